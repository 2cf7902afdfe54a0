"""Reads a kernel's own description of its types (BTF): the place of a member in a structure.

Format: `Documentation/bpf/btf.rst` of the kernel. Only the parts needed for that are read.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

# Bytes that follow the 12 bytes of a type, by its kind; and those for each of its entries.
_FIXED = {1: 4, 3: 12, 14: 4, 17: 4}
_LISTED = {4: 12, 5: 12, 6: 8, 13: 8, 15: 12, 19: 12}
_STRUCT, _UNION = 4, 5
_THROUGH = {8, 9, 10, 11, 18}  # typedef, volatile, const, restrict, type tag: the type behind them


@dataclass(frozen=True)
class MemberPlace:
    """The place of a member: its byte, and for a bit field its first bit there and its width."""

    byte: int
    bit: int = 0
    width: int = 0


class Types:
    """The types of a kernel, from the bytes of its `/sys/kernel/btf/vmlinux`."""

    def __init__(self, blob: bytes) -> None:
        magic, _, _, header, type_at, type_len, text_at, text_len = struct.unpack_from("<HBBIIIII", blob)
        if magic != 0xEB9F:
            raise ValueError("these are no BTF types: the first two bytes are not eb9f")
        self._text = blob[header + text_at : header + text_at + text_len]
        self._blob = blob
        self._types: list[tuple[str, int, int, bool, int, int]] = [("", 0, 0, False, 0, 0)]
        self._named: dict[str, int] = {}
        at, end = header + type_at, header + type_at + type_len
        while at < end:
            name_at, info, size = struct.unpack_from("<III", blob, at)
            kind, count, flag = info >> 24 & 31, info & 0xFFFF, bool(info >> 31)
            name = self._name(name_at)
            if kind in (_STRUCT, _UNION) and name:
                self._named.setdefault(name, len(self._types))
            self._types.append((name, kind, count, flag, size, at + 12))
            at += 12 + _FIXED.get(kind, 0) + count * _LISTED.get(kind, 0)

    def _name(self, at: int) -> str:
        return self._text[at : self._text.index(b"\0", at)].decode()

    def place(self, structure: str, member: str) -> MemberPlace:
        """The place of `member` in `struct structure`.

        Members of structures without a name, and of the first member, count as its own.

        Raises KeyError if the kernel has no such structure or member.
        """
        if structure not in self._named:
            raise KeyError(f"this kernel has no struct {structure}")
        found = self._search(self._named[structure], member, 0)
        if found is None:
            raise KeyError(f"struct {structure} of this kernel has no member {member}")
        return found

    def _search(self, index: int, wanted: str, base: int) -> MemberPlace | None:
        while self._types[index][1] in _THROUGH:
            index = self._types[index][4]
        _, kind, count, flag, _, at = self._types[index]
        if kind not in (_STRUCT, _UNION):
            return None
        for i in range(count):
            name_at, of, offset = struct.unpack_from("<III", self._blob, at + 12 * i)
            name = self._name(name_at)
            width, bits = (offset >> 24, offset & 0xFFFFFF) if flag else (0, offset)
            if name == wanted:
                whole = base + bits
                return MemberPlace(whole // 8, whole % 8 if width else 0, width)
            # A socket begins with the socket that it extends.
            if not name or bits == 0 and i == 0:
                inner = self._search(of, wanted, base + bits)
                if inner is not None:
                    return inner
        return None
