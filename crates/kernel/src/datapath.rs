//! Loading the datapath, or a native program, into the kernel and registering it as an algorithm of its TCP.

use std::fs;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use libbpf_rs::{
    Link, MapCore, MapFlags, MapHandle, MapType, Object, ObjectBuilder, OpenObject, PrintLevel, set_print,
};

use crate::btf::OperationsValue;
use crate::layout::LAYOUT;
use crate::slots::Slots;
use crate::{Error, bpffs, objects, support};

/// The names of the tables in the objects: the table for kernels whose `cong_control` has four parameters,
/// and the other.
const SINCE_612: &str = "since_612";
const BEFORE_612: &str = "before_612";
/// The name in the datapath's object until it gets its own.
const PLACEHOLDER: &[u8] = b"bp_datapath\0";
/// Longest name of an algorithm in the kernel.
const LONGEST: usize = 15;
/// How often, and after which pauses, to check whether the kernel has freed an algorithm: two seconds in all.
const LOOKS: u32 = 200;
const BETWEEN_LOOKS: Duration = Duration::from_millis(10);

/// How a datapath is made.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The kernel's name of the algorithm, at most 15 characters.
    pub name: String,
    /// How many connections it carries at once; further ones run as reno.
    pub flows: u32,
    /// Size of the ring buffer of reports: a power of two, and whole pages.
    pub ring_bytes: u32,
    /// A directory for pins: the datapath then outlives the process.
    pub pin: Option<PathBuf>,
}

impl Settings {
    /// The usual sizes, not pinned.
    pub fn new(name: &str) -> Self {
        Self { name: name.to_owned(), flows: 8192, ring_bytes: 4 << 20, pin: None }
    }

    fn check(&self) -> Result<(), Error> {
        check_name(&self.name)?;
        if !self.ring_bytes.is_power_of_two() || self.ring_bytes < 4096 {
            return Err(Error(format!(
                "ring_bytes must be a power of two from 4096, not {}",
                self.ring_bytes
            )));
        }
        if self.flows == 0 || self.flows > 1 << 20 {
            return Err(Error(format!("flows must be a number from 1 to 1048576, not {}", self.flows)));
        }
        Ok(())
    }

    /// Where the pins of this name are.
    fn pins(&self) -> Option<PathBuf> {
        self.pin.as_ref().map(|pin| pin.join(&self.name))
    }
}

fn check_name(name: &str) -> Result<(), Error> {
    let fine = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
    if name.is_empty() || name.len() > LONGEST || !name.chars().all(fine) {
        return Err(Error(format!(
            "the kernel's name of an algorithm has 1 to {LONGEST} letters, digits, _ and -, unlike {name:?}"
        )));
    }
    Ok(())
}

/// The algorithms that the kernel offers now.
pub fn available() -> Vec<String> {
    let list = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").unwrap_or_default();
    list.split_whitespace().map(str::to_owned).collect()
}

/// A registered table. Dropping it unregisters it, unless it is pinned.
#[derive(Debug)]
struct Table {
    _link: Option<Link>,
    /// Declared after the link, which refers to it on kernels without links.
    _object: Option<Object>,
}

/// The datapath, registered under its name.
#[derive(Debug)]
pub struct Datapath {
    name: String,
    _table: Table,
    slots: Arc<Slots>,
    reports: MapHandle,
}

impl Datapath {
    /// Loads and registers it, or takes it over if it is already pinned.
    ///
    /// # Errors
    /// One line: what is missing, what the verifier refused, or that the name is taken. Nothing has changed
    /// in that case.
    pub fn open(settings: &Settings) -> Result<Self, Error> {
        settings.check()?;
        let arity = support::check().map_err(Error)?;
        match settings.pins().filter(|pins| pins.join("control").exists()) {
            Some(pins) => Self::resume(settings, pins),
            None => Self::load(settings, arity),
        }
    }

    fn load(settings: &Settings, arity: u32) -> Result<Self, Error> {
        let name = &settings.name;
        refuse_taken(name)?;
        let object = load_object("datapath", arity, &mut |open| {
            for mut map in open.maps_mut() {
                match map.name().to_str() {
                    Some("slots") => map.set_max_entries(settings.flows)?,
                    Some("reports") => map.set_max_entries(settings.ring_bytes)?,
                    Some(SINCE_612 | BEFORE_612) => rename(map.initial_value_mut().unwrap_or_default(), name),
                    _ => {}
                }
            }
            Ok(())
        })?;
        let handle = |which: &str| {
            let map = object.maps().find(|map| map.name() == which);
            let map = map.ok_or_else(|| Error(format!("the datapath's object has no map {which}")))?;
            MapHandle::try_from(&map).map_err(|e| Error::from_libbpf(&format!("the map {which}"), &e))
        };
        let (mut slots, mut reports, mut control) =
            (handle("slots")?, handle("reports")?, handle("control")?);
        let mapped = Slots::map(slots.as_fd(), control.as_fd(), settings.flows)
            .map_err(|e| Error(format!("the datapath's slots cannot be mapped: {e}")))?;
        let id = slots.info().map_err(|e| Error::from_libbpf("the slots", &e))?.info.id;
        let mut named = [0; 16];
        named[..name.len()].copy_from_slice(name.as_bytes());
        mapped.change_control(|words| {
            words.layout(LAYOUT);
            words.slots_map(u64::from(id));
            words.name(named);
            words.slots(settings.flows);
        });
        let maps = [("slots", &mut slots), ("reports", &mut reports), ("control", &mut control)];
        let table = Table::register(object, arity, name, settings.pins().as_deref(), maps)?;
        Ok(Self { name: name.clone(), _table: table, slots: Arc::new(mapped), reports })
    }

    fn resume(settings: &Settings, pins: PathBuf) -> Result<Self, Error> {
        let open = |which: &str| {
            MapHandle::from_pinned_path(pins.join(which))
                .map_err(|e| Error::from_libbpf(&format!("the pin {}", pins.join(which).display()), &e))
        };
        let (slots, reports, control) = (open("slots")?, open("reports")?, open("control")?);
        let foreign = || {
            Error(format!("{} holds pins of another version: detach {} first", pins.display(), settings.name))
        };
        if slots.value_size() as usize != size_of::<crate::layout::Slot>()
            || control.value_size() as usize != size_of::<crate::layout::Control>()
        {
            return Err(foreign());
        }
        let count = slots.max_entries();
        let mapped = Slots::map(slots.as_fd(), control.as_fd(), count)
            .map_err(|e| Error(format!("the datapath's slots cannot be mapped: {e}")))?;
        let found = mapped.control();
        if found.layout != LAYOUT {
            return Err(foreign());
        }
        if found.agent_pid != 0 && is_alive(found.agent_pid) {
            let pid = found.agent_pid;
            return Err(Error(format!("{} is served by process {pid} already", settings.name)));
        }
        if !available().contains(&settings.name) {
            return Err(Error(format!(
                "{} has pins in {} but is not registered: detach it first",
                settings.name,
                pins.display()
            )));
        }
        let table = Table { _link: None, _object: None };
        Ok(Self { name: settings.name.clone(), _table: table, slots: Arc::new(mapped), reports })
    }

    /// Its name in the kernel.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The slots of its flows.
    pub fn slots(&self) -> &Arc<Slots> {
        &self.slots
    }

    /// The ring buffer of reports.
    pub(crate) fn reports(&self) -> &MapHandle {
        &self.reports
    }
}

impl Table {
    /// Registers the table of a loaded object. With `pins`, a directory, it is pinned there, and each of
    /// `maps` under its name; if that fails, no pin is left.
    fn register<const N: usize>(
        mut object: Object,
        arity: u32,
        name: &str,
        pins: Option<&Path>,
        maps: [(&str, &mut MapHandle); N],
    ) -> Result<Self, Error> {
        let Some(pins) = pins else {
            return Ok(Self { _link: Some(register(&mut object, arity, name)?), _object: Some(object) });
        };
        prepare(pins)?;
        let mut link = register(&mut object, arity, name)?;
        pin_table(&mut object, &mut link, arity, pins)
            .and_then(|()| maps.into_iter().try_for_each(|(map, handle)| handle.pin(pins.join(map))))
            .map_err(|error| {
                remove_pins(pins);
                Error::from_libbpf(&format!("pinning in {}", pins.display()), &error)
            })?;
        if arity == 4 {
            // The pin holds the link, and may be removed by others.
            return Ok(Self { _link: None, _object: Some(object) });
        }
        link.disconnect();
        Ok(Self { _link: Some(link), _object: Some(object) })
    }
}

/// Does the process `pid`, which is not this one, still run? A process that has ended and was not waited for
/// has no program any more.
fn is_alive(pid: u64) -> bool {
    pid != u64::from(std::process::id()) && Path::new("/proc").join(pid.to_string()).join("exe").exists()
}

/// A native program, registered under its own name.
#[derive(Debug)]
pub struct Native {
    name: String,
    _table: Table,
}

impl Native {
    /// Loads and registers the native program `program` as `bpn_PROGRAM`, with underscores for hyphens.
    ///
    /// # Errors
    /// As [`Datapath::open`].
    pub fn open(program: &str, pin: Option<&Path>) -> Result<Self, Error> {
        let arity = support::check().map_err(Error)?;
        let name = native_name(program);
        check_name(&name)?;
        let of = format!("native/{program}");
        if objects::find(&of).is_none() {
            let names: Vec<_> = objects::natives().collect();
            return Err(Error(format!(
                "no native program is called {program}; there are {}",
                names.join(", ")
            )));
        }
        refuse_taken(&name)?;
        let object = load_object(&of, arity, &mut |_| Ok(()))?;
        let pins = pin.map(|pin| pin.join(&name));
        let table = Table::register(object, arity, &name, pins.as_deref(), [])?;
        Ok(Self { name, _table: table })
    }

    /// Its name in the kernel.
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// The kernel's default name of an algorithm: `bp_` and its own name, in characters that the kernel takes.
pub fn usual_name(cc: &str) -> String {
    let kept = cc.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' });
    "bp_".chars().chain(kept).take(LONGEST).collect()
}

/// The name that the native program of an algorithm has in the kernel.
pub fn native_name(program: &str) -> String {
    format!("bpn_{}", program.replace('-', "_"))
}

fn refuse_taken(name: &str) -> Result<(), Error> {
    if available().iter().any(|taken| taken == name) {
        return Err(Error(format!("the kernel has an algorithm called {name} already: detach it first")));
    }
    Ok(())
}

/// Writes the algorithm's name over the placeholder.
fn rename(table: &mut [u8], name: &str) {
    if let Some(at) = table.windows(PLACEHOLDER.len()).position(|w| w == PLACEHOLDER) {
        let place = &mut table[at..at + LONGEST + 1];
        place.fill(0);
        place[..name.len()].copy_from_slice(name.as_bytes());
    }
}

/// The messages of libbpf and the verifier while something was loaded.
static SAID: Mutex<Vec<String>> = Mutex::new(Vec::new());

fn said() -> std::sync::MutexGuard<'static, Vec<String>> {
    SAID.lock().unwrap_or_else(PoisonError::into_inner)
}

fn hear(_: PrintLevel, text: String) {
    said().extend(text.lines().map(str::to_owned));
}

/// Loads an object with the one of its two tables that fits the kernel; `set_up` may change it before.
fn load_object(
    name: &str,
    arity: u32,
    set_up: &mut dyn FnMut(&mut OpenObject) -> libbpf_rs::Result<()>,
) -> Result<Object, Error> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let bytes =
        objects::find(name).ok_or_else(|| Error(format!("the program {name} was not compiled in")))?;
    said().clear();
    let before = set_print(Some((PrintLevel::Info, hear)));
    let loaded = ObjectBuilder::default().open_memory(bytes).and_then(|mut open| {
        let unfit = if arity == 4 { BEFORE_612 } else { SINCE_612 };
        for mut map in open.maps_mut() {
            if map.name() == unfit {
                map.set_autocreate(false)?;
            }
        }
        set_up(&mut open)?;
        open.load()
    });
    set_print(before);
    loaded.map_err(|error| match verdict(&said()) {
        Some(line) => Error(format!("the kernel's verifier refused {name}: {line}")),
        None => Error::from_libbpf(&format!("loading {name}"), &error),
    })
}

/// The verifier's last meaningful line: not one of its statistics, and not libbpf's own.
fn verdict(log: &[String]) -> Option<String> {
    let begin = log.iter().position(|line| line.contains("BEGIN PROG LOAD LOG"))?;
    let rest = &log[begin + 1..];
    let end = rest.iter().position(|line| line.contains("END PROG LOAD LOG")).unwrap_or(rest.len());
    let noise = |line: &&String| {
        let line = line.trim();
        line.is_empty()
            || ["processed ", "verification time", "stack depth", "mark_precise", ";", "from "]
                .iter()
                .any(|s| line.starts_with(s))
            || line.starts_with(|c: char| c.is_ascii_digit()) && line.contains(':')
    };
    rest[..end].iter().rev().find(|line| !noise(line)).map(|line| line.trim().to_owned())
}

/// Registers the table of a loaded object.
fn register(object: &mut Object, arity: u32, name: &str) -> Result<Link, Error> {
    let failed = |error: &libbpf_rs::Error| Error::from_libbpf(&format!("registering {name}"), error);
    let mut table = None;
    for map in object.maps_mut() {
        // A program of the kernel's own window rules has one table for all kernels.
        let fits = map.name() == if arity == 4 { SINCE_612 } else { BEFORE_612 };
        if map.map_type() == MapType::StructOps && map.autocreate() && (fits || table.is_none()) {
            table = Some(map);
        }
    }
    let mut table = table.ok_or_else(|| Error(format!("the object of {name} has no table of operations")))?;
    said().clear();
    let before = set_print(Some((PrintLevel::Warn, hear)));
    let link = table.attach_struct_ops();
    set_print(before);
    link.map_err(|e| failed(&e))
}

/// Pins what keeps a table registered: its link, or on kernels without links the table itself.
fn pin_table(object: &mut Object, link: &mut Link, arity: u32, pins: &Path) -> libbpf_rs::Result<()> {
    if arity == 4 {
        return link.pin(pins.join("link"));
    }
    for map in object.maps_mut() {
        if map.map_type() == MapType::StructOps && map.autocreate() {
            MapHandle::try_from(&map)?.pin(pins.join("table"))?;
        }
    }
    Ok(())
}

/// Makes the directory of the pins, in a BPF file system.
fn prepare(pins: &Path) -> Result<(), Error> {
    bpffs::prepare(pins.parent().unwrap_or(pins)).map_err(Error)?;
    fs::create_dir_all(pins)
        .map_err(|e| Error(format!("the directory {} cannot be made: {e}", pins.display())))
}

fn remove_pins(pins: &Path) {
    for name in ["link", "table", "slots", "reports", "control"] {
        fs::remove_file(pins.join(name)).ok();
    }
    fs::remove_dir(pins).ok();
}

/// Unregisters the algorithm `name` that is pinned in `pin`, and removes its pins. Connections that use it
/// continue with the datapath's fallback until they end. Returns false if nothing of that name is pinned
/// there.
///
/// # Errors
/// The pins cannot be removed, or a process still holds the algorithm.
pub fn detach(pin: &Path, name: &str) -> Result<bool, Error> {
    check_name(name)?;
    let pins = pin.join(name);
    if !pins.is_dir() {
        return Ok(false);
    }
    if let Ok(table) = MapHandle::from_pinned_path(pins.join("table")) {
        table.delete(&0_u32.to_ne_bytes()).ok(); // it is unregistered already
    }
    remove_pins(&pins);
    if pins.exists() {
        return Err(Error(format!("the pins in {} cannot all be removed", pins.display())));
    }
    await_unregistered(name)?;
    Ok(true)
}

/// Waits until the kernel no longer offers `name`. The kernel frees a link whose last pin is gone in the
/// background (bpf_link_put).
fn await_unregistered(name: &str) -> Result<(), Error> {
    for _ in 0..LOOKS {
        if !available().iter().any(|offered| offered == name) {
            return Ok(());
        }
        thread::sleep(BETWEEN_LOOKS);
    }
    Err(Error(format!("the kernel still offers {name}: a process holds it; end that process")))
}

/// Unregisters tables that a killed process left behind on a kernel without links, if `name` is one. Returns
/// true if there was one.
pub fn sweep(name: &str) -> bool {
    let layout = fs::read(support::BTF).ok().and_then(|types| OperationsValue::read(&types));
    let Some(layout) = layout else { return false };
    let mut swept = false;
    for (id, info) in crate::maps::all() {
        if info.ty == MapType::StructOps
            && info.btf_vmlinux_value_type_id == layout.kind
            && let Ok(map) = MapHandle::from_map_id(id)
            && let Ok(Some(value)) = map.lookup(&0_u32.to_ne_bytes(), MapFlags::ANY)
            && is_named(&value, layout.name_at, name)
        {
            swept |= map.delete(&0_u32.to_ne_bytes()).is_ok();
        }
    }
    swept
}

/// Are the operations in `value` those of the algorithm `name`?
fn is_named(value: &[u8], at: usize, name: &str) -> bool {
    let field = value.get(at..).unwrap_or_default();
    field.strip_prefix(name.as_bytes()).is_some_and(|rest| rest.first() == Some(&0))
}

#[cfg(test)]
mod tests {
    use super::{PLACEHOLDER, check_name, is_named, rename, usual_name, verdict};

    #[test]
    fn the_verdict_is_the_last_line_that_says_something() {
        let log = "libbpf: prog 'init': BPF program load failed: Permission denied
libbpf: prog 'init': -- BEGIN PROG LOAD LOG --
0: R1=ctx() R10=fp0
; int x = 1;
1: (79) r6 = *(u64 *)(r1 +0)
R6 invalid mem access 'scalar'
processed 2 insns (limit 1000000) max_states_per_insn 0
verification time 31 usec
-- END PROG LOAD LOG --
libbpf: prog 'init': failed to load: -13";
        let lines: Vec<String> = log.lines().map(str::to_owned).collect();
        assert_eq!(verdict(&lines).as_deref(), Some("R6 invalid mem access 'scalar'"));
        assert_eq!(verdict(&lines[..1]), None);
    }

    #[test]
    fn names_fit_the_kernel() {
        assert_eq!(usual_name("log-westwood-plus"), "bp_log_westwood");
        assert_eq!(usual_name("My Reno"), "bp_My_Reno");
        for (name, fits) in [("bp_star", true), ("", false), ("a-name-of-16-char", false), ("a b", false)] {
            assert_eq!(check_name(name).is_ok(), fits, "{name}");
        }
    }

    #[test]
    fn the_placeholder_is_overwritten_and_nothing_else() {
        let mut table = [&[7; 9][..], PLACEHOLDER, &[0; 4], &[8; 9]].concat();
        rename(&mut table, "bp_x");
        assert_eq!(table, [&[7; 9][..], b"bp_x", &[0; 12], &[8; 9]].concat());
    }

    #[test]
    fn a_table_is_known_by_its_whole_name() {
        // Beginning, end and middle of other names, and the name where another member is.
        let table = |name: &[u8]| [b"bp_star\0", name, &[0; 8]].concat();
        assert!(is_named(&table(b"bp_star"), 8, "bp_star"));
        for other in [&b"xbp_star"[..], b"bp_star_2", b"bp_sta", b"\0bp_star", b""] {
            assert!(!is_named(&table(other), 8, "bp_star"), "{other:?}");
        }
        assert!(!is_named(b"bp_star", 0, "bp_star")); // cut off
        assert!(!is_named(b"", 8, "bp_star"));
    }
}
