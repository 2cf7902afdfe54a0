//! The BPF maps of the whole system: how a datapath is found from outside its process.

use std::os::fd::AsFd;

use libbpf_rs::query::{MapInfo, MapInfoIter};
use libbpf_rs::{MapHandle, MapType};

use crate::layout::{Control, LAYOUT, Slot};
use crate::slots::Slots;

/// Ids and facts of all maps.
pub(crate) fn all() -> impl Iterator<Item = (u32, MapInfo)> {
    MapInfoIter::default().map(|info| (info.id, info))
}

/// The slots of every datapath of this layout on the machine.
pub(crate) fn datapaths() -> Vec<Slots> {
    let of_ours = |info: &MapInfo| {
        info.ty == MapType::Array
            && info.name == "control"
            && info.value_size as usize == size_of::<Control>()
    };
    all().filter(|(_, info)| of_ours(info)).filter_map(|(id, _)| open(id)).collect()
}

fn open(id: u32) -> Option<Slots> {
    let control = MapHandle::from_map_id(id).ok()?;
    // The one page of a control alone, to learn which map has the slots.
    let found = Slots::map(control.as_fd(), control.as_fd(), 0).ok()?.control();
    let slots = MapHandle::from_map_id(u32::try_from(found.slots_map).ok()?).ok()?;
    use libbpf_rs::MapCore as _;
    if found.layout != LAYOUT || slots.value_size() as usize != size_of::<Slot>() {
        return None;
    }
    Slots::map(slots.as_fd(), control.as_fd(), slots.max_entries()).ok()
}
