//! The bytes of packets that are inside, each under the number that travels with it through the directions.

/// Packets by number. The room of a packet that has left is used again; it grows to the
/// most that were ever inside.
#[derive(Debug, Default)]
pub(crate) struct PacketStore {
    slots: Vec<Vec<u8>>,
    free: Vec<u32>,
}

impl PacketStore {
    /// Keeps a copy of `bytes`.
    pub(crate) fn put(&mut self, bytes: &[u8]) -> u32 {
        let number = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Vec::new());
            self.slots.len() as u32 - 1
        });
        let slot = &mut self.slots[number as usize];
        slot.clear();
        slot.extend_from_slice(bytes);
        number
    }

    /// The bytes of the packet with this number.
    pub(crate) fn bytes(&mut self, number: u32) -> &mut [u8] {
        &mut self.slots[number as usize]
    }

    /// The packet is gone; its number may be used again.
    pub(crate) fn free(&mut self, number: u32) {
        debug_assert!(!self.free.contains(&number) || self.free.len() > 1_000, "packet {number} left twice");
        self.free.push(number);
    }

    /// How many packets are inside.
    pub(crate) fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_used_again() {
        let mut store = PacketStore::default();
        let (a, b) = (store.put(b"one"), store.put(b"other"));
        assert_eq!((store.bytes(a).to_vec(), store.bytes(b).to_vec()), (b"one".to_vec(), b"other".to_vec()));
        store.free(a);
        assert_eq!((store.len(), store.put(b"third")), (1, a));
        assert_eq!(
            (store.bytes(a).to_vec(), store.bytes(b).to_vec()),
            (b"third".to_vec(), b"other".to_vec())
        );
    }
}
