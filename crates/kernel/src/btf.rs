//! A reader for the part of BTF (the kernel's type information) that answers questions about members of
//! structs. Format: `Documentation/bpf/btf.rst` of the kernel.

struct Btf<'a> {
    types: &'a [u8],
    strings: &'a [u8],
    /// Where each type begins in `types`; number 0 is void.
    places: Vec<usize>,
}

const KIND_INT: u32 = 1;
const KIND_PTR: u32 = 2;
const KIND_ARRAY: u32 = 3;
const KIND_STRUCT: u32 = 4;
const KIND_UNION: u32 = 5;
const KIND_ENUM: u32 = 6;
const KIND_FUNC_PROTO: u32 = 13;
const KIND_VAR: u32 = 14;
const KIND_DATASEC: u32 = 15;
const KIND_DECL_TAG: u32 = 17;
const KIND_ENUM64: u32 = 19;

fn word(data: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(data.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

impl<'a> Btf<'a> {
    fn read(data: &'a [u8]) -> Option<Self> {
        if data.get(..2)? != 0xeb9f_u16.to_ne_bytes() {
            return None;
        }
        let at = |field: usize| word(data, field).map(|n| n as usize);
        let header = at(4)?;
        let (types_at, types_len, strings_at, strings_len) = (at(8)?, at(12)?, at(16)?, at(20)?);
        let types = data.get(header + types_at..)?.get(..types_len)?;
        let strings = data.get(header + strings_at..)?.get(..strings_len)?;
        let mut places = vec![usize::MAX];
        let mut place = 0;
        while place < types.len() {
            places.push(place);
            let info = word(types, place + 4)?;
            let (kind, len) = ((info >> 24) & 0x1f, (info & 0xffff) as usize);
            place += 12
                + match kind {
                    KIND_INT | KIND_VAR | KIND_DECL_TAG => 4,
                    KIND_ARRAY => 12,
                    KIND_STRUCT | KIND_UNION | KIND_DATASEC | KIND_ENUM64 => 12 * len,
                    KIND_ENUM | KIND_FUNC_PROTO => 8 * len,
                    _ => 0,
                };
        }
        Some(Self { types, strings, places })
    }

    fn name(&self, at: u32) -> &'a [u8] {
        let text = self.strings.get(at as usize..).unwrap_or_default();
        text.split(|byte| *byte == 0).next().unwrap_or_default()
    }

    /// Kind, number of members and type that a type refers to.
    fn at(&self, id: u32) -> Option<(u32, u32, u32, usize)> {
        let place = *self.places.get(id as usize).filter(|place| **place != usize::MAX)?;
        let info = word(self.types, place + 4)?;
        Some(((info >> 24) & 0x1f, info & 0xffff, word(self.types, place + 8)?, place))
    }

    /// Number of the struct `name`, its number of members, and where it is.
    fn structure(&self, name: &str) -> Option<(u32, u32, usize)> {
        (1..self.places.len() as u32).find_map(|id| {
            let (kind, len, _, place) = self.at(id)?;
            let named = kind == KIND_STRUCT && self.name(word(self.types, place)?) == name.as_bytes();
            named.then_some((id, len, place))
        })
    }

    /// Type of member `member` of struct `of`, and its offset in bytes from the beginning.
    fn member(&self, of: &str, member: &str) -> Option<(u32, usize)> {
        let (_, len, place) = self.structure(of)?;
        for field in (0..len as usize).map(|i| place + 12 + 12 * i) {
            if self.name(word(self.types, field)?) == member.as_bytes() {
                // If a struct has bit fields, the upper byte of each offset is the number of bits.
                let bits = word(self.types, field + 8)?;
                let has_bit_fields = word(self.types, place + 4)? >> 31 == 1;
                let bits = if has_bit_fields { bits & 0xff_ffff } else { bits };
                return Some((word(self.types, field + 4)?, bits as usize / 8));
            }
        }
        None
    }
}

/// How many parameters the function has to which member `member` of struct `of` points.
pub(crate) fn parameters_of_member(data: &[u8], of: &str, member: &str) -> Option<u32> {
    let btf = Btf::read(data)?;
    let (pointer, _) = btf.member(of, member)?;
    let (_, _, to, _) = btf.at(pointer).filter(|t| t.0 == KIND_PTR)?;
    btf.at(to).filter(|t| t.0 == KIND_FUNC_PROTO).map(|t| t.1)
}

/// Of a map of operations of TCP: its value.
#[cfg(any(feature = "bpf", test))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OperationsValue {
    /// Number of its type.
    pub(crate) kind: u32,
    /// The offset of the algorithm's name in it.
    pub(crate) name_at: usize,
}

#[cfg(any(feature = "bpf", test))]
impl OperationsValue {
    /// Reads it in the kernel's layout: `struct bpf_struct_ops_tcp_congestion_ops`, whose `data` holds the
    /// operations.
    pub(crate) fn read(data: &[u8]) -> Option<Self> {
        let btf = Btf::read(data)?;
        let value = "bpf_struct_ops_tcp_congestion_ops";
        let (kind, ..) = btf.structure(value)?;
        let (_, operations_at) = btf.member(value, "data")?;
        let (_, name_at) = btf.member("tcp_congestion_ops", "name")?;
        Some(Self { kind, name_at: operations_at + name_at })
    }
}

#[cfg(test)]
mod tests {
    use super::{OperationsValue, parameters_of_member};

    /// A struct `s` with an integer `n` and a pointer `f` to a function of `parameters` parameters.
    fn sample(parameters: u32) -> Vec<u8> {
        let strings = b"\0s\0n\0f\0int\0";
        let mut types: Vec<u32> = Vec::new();
        types.extend([7, 1 << 24, 4, 32]); // 1: int
        types.extend([1, (4 << 24) | 2, 16, 3, 1, 0, 5, 3, 64]); // 2: struct s
        types.extend([0, 2 << 24, 4]); // 3: pointer
        types.extend([0, (13 << 24) | parameters, 0]); // 4: function
        types.extend((0..parameters).flat_map(|_| [0, 1]));
        let types: Vec<u8> = types.into_iter().flat_map(u32::to_ne_bytes).collect();
        let mut data = 0xeb9f_u16.to_ne_bytes().to_vec();
        data.extend([1, 0]);
        for n in [24, 0, types.len() as u32, types.len() as u32, strings.len() as u32] {
            data.extend(n.to_ne_bytes());
        }
        [data, types, strings.to_vec()].concat()
    }

    #[test]
    fn parameters_are_counted() {
        for n in [0, 2, 4] {
            assert_eq!(parameters_of_member(&sample(n), "s", "f"), Some(n));
        }
        assert_eq!(parameters_of_member(&sample(2), "s", "n"), None);
        assert_eq!(parameters_of_member(&sample(2), "t", "f"), None);
    }

    #[test]
    fn damaged_data_yields_nothing() {
        let whole = sample(4);
        for n in 0..whole.len() {
            assert_eq!(parameters_of_member(&whole[..n], "s", "f"), None, "{n}");
        }
    }

    /// `struct tcp_congestion_ops { int key; int name; }` behind 64 bytes of `struct
    /// bpf_struct_ops_tcp_congestion_ops`.
    fn operations(bit_fields: bool) -> Vec<u8> {
        let strings = b"\0key\0name\0data\0common\0tcp_congestion_ops\0bpf_struct_ops_tcp_congestion_ops\0";
        let [key, name, data, common, inner, outer] = [1, 5, 10, 15, 22, 41];
        let (flag, width) = if bit_fields { (1 << 31, 32 << 24) } else { (0, 0) };
        let mut types: Vec<u32> = Vec::new();
        types.extend([0, 1 << 24, 4, 32]); // 1: int
        types.extend([inner, flag | (4 << 24) | 2, 8, key, 1, width, name, 1, width | 32]); // 2
        types.extend([outer, (4 << 24) | 2, 72, common, 1, 0, data, 2, 512]); // 3
        let types: Vec<u8> = types.into_iter().flat_map(u32::to_ne_bytes).collect();
        let mut made = 0xeb9f_u16.to_ne_bytes().to_vec();
        made.extend([1, 0]);
        for n in [24, 0, types.len() as u32, types.len() as u32, strings.len() as u32] {
            made.extend(n.to_ne_bytes());
        }
        [made, types, strings.to_vec()].concat()
    }

    #[test]
    fn the_name_of_an_algorithm_is_behind_the_kernels_own_words() {
        for bit_fields in [false, true] {
            let found = OperationsValue::read(&operations(bit_fields));
            assert_eq!(found, Some(OperationsValue { kind: 3, name_at: 64 + 4 }));
        }
        assert_eq!(OperationsValue::read(&sample(2)), None);
    }
}
