//! As much of a reader of BTF (the kernel's type information) as finding the number of parameters takes. Format:
//! `Documentation/bpf/btf.rst` of the kernel.

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
}

/// How many parameters the function has that member `member` of struct `of` points to.
pub(crate) fn parameters_of_member(data: &[u8], of: &str, member: &str) -> Option<u32> {
    let btf = Btf::read(data)?;
    for id in 1..btf.places.len() as u32 {
        let (kind, len, _, place) = btf.at(id)?;
        if kind != KIND_STRUCT || btf.name(word(btf.types, place)?) != of.as_bytes() {
            continue;
        }
        for i in 0..len as usize {
            let field = place + 12 + 12 * i;
            if btf.name(word(btf.types, field)?) == member.as_bytes() {
                let (_, _, to, _) = btf.at(word(btf.types, field + 4)?).filter(|t| t.0 == KIND_PTR)?;
                return btf.at(to).filter(|t| t.0 == KIND_FUNC_PROTO).map(|t| t.1);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::parameters_of_member;

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
}
