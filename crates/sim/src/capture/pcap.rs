//! Captures of the packets of a run, as files that other programs read: the format pcapng
//! (draft-ietf-opsawg-pcapng).
//!
//! A file has one section, and one interface for each place where packets are seen. Time is in nanoseconds
//! since the start of the run, which is placed at the epoch. A packet is IPv4 without a link layer. The file
//! has a provisional name until the run is complete; a run that fails removes it.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use bentpipe_cc::Time;

/// LINKTYPE_RAW: the packet begins with the IP header.
const RAW_IP: u16 = 101;
/// The longest headers: IPv4 without options, TCP with 40 bytes of them.
pub(crate) const HEADERS: u32 = 80;
/// The longest packet of IPv4.
const WHOLE: u32 = 65_535;

const SECTION_HEADER: u32 = 0x0A0D_0D0A;
const INTERFACE_DESCRIPTION: u32 = 1;
const ENHANCED_PACKET: u32 = 6;
const BYTE_ORDER: u32 = 0x1A2B_3C4D;

/// What to capture, and where to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capture {
    /// The file. A pipe or a device is written to directly.
    pub path: PathBuf,
    /// Where the packets are seen.
    pub at: Place,
    /// Keep the payload (all zeros), and not only the headers.
    pub whole: bool,
}

/// Where packets are seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// At the hosts that send data: data as it is sent, acknowledgements as they arrive. An interface a flow.
    Sender,
    /// At the hosts that receive data. An interface a flow.
    Receiver,
    /// At the entry of this link's directions, before their queues. An interface a direction.
    Link(String),
}

impl Place {
    /// The place called `sender` or `receiver`; any other name is a link's.
    pub fn named(name: &str) -> Self {
        match name {
            "sender" => Self::Sender,
            "receiver" => Self::Receiver,
            link => Self::Link(link.to_owned()),
        }
    }
}

/// Why there is no capture.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CaptureError {
    /// The place does not exist.
    #[error(
        "cannot capture at {given:?}, which is neither \"sender\" nor \"receiver\" nor a link; {suggestion}"
    )]
    Place {
        /// The name given.
        given: String,
        /// The name that may have been meant.
        suggestion: String,
    },
    /// A flow's packets cannot be IPv4 packets.
    #[error("flow {flow}: {why}")]
    Size {
        /// Name of the flow.
        flow: String,
        /// Which packets are too large or too small, and what would be right.
        why: String,
    },
    /// The file cannot be written.
    #[error("cannot write the capture {}: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The error that the system gave.
        source: io::Error,
    },
    /// A capture in memory has no more room.
    #[error(
        "the capture has more than {most} bytes; shorten the run, or write it to a file with bentpipe run --pcap FILE"
    )]
    Room {
        /// The most bytes that it may have.
        most: usize,
    },
}

/// Where the bytes of a capture go.
#[derive(Debug)]
enum Output {
    File {
        out: BufWriter<File>,
        path: PathBuf,
        /// The file's provisional name; `None` if it is written to directly.
        work: Option<PathBuf>,
    },
    Memory {
        bytes: Vec<u8>,
        /// The most that there may be.
        most: usize,
    },
}

/// A capture being written. The memory for a file does not grow with it. Without [`Writer::finish`] nothing
/// remains of a file.
#[derive(Debug)]
pub struct Writer {
    output: Output,
    whole: bool,
    block: Vec<u8>,
    /// The first error. Nothing is written after it.
    failed: Option<CaptureError>,
}

/// Bytes of a file's name that are kept in its provisional name: no name has more than 255, and the number of
/// the process is added.
const LONGEST_NAME: usize = 200;

impl Writer {
    /// Begins the file with the names of its interfaces. `whole`: packets are kept with their payload.
    ///
    /// # Errors
    /// [`CaptureError::Write`] if the file cannot be made.
    pub fn create(
        path: &Path,
        whole: bool,
        interfaces: impl Iterator<Item = String>,
    ) -> Result<Self, CaptureError> {
        let direct = path.metadata().is_ok_and(|m| !m.is_file() && !m.is_dir());
        let work = (!direct && path.file_name().is_some() && !path.is_dir()).then(|| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let name: String = name
                .chars()
                .scan(0, |bytes, c| {
                    *bytes += c.len_utf8();
                    (*bytes <= LONGEST_NAME).then_some(c)
                })
                .collect();
            path.with_file_name(format!(".{name}.{}", std::process::id()))
        });
        let opened = match &work {
            Some(work) => File::create(work),
            None => File::options().write(true).open(path),
        };
        let out = opened.map_err(|source| CaptureError::Write { path: path.to_owned(), source })?;
        let out = BufWriter::with_capacity(1 << 18, out);
        Self::begin_with(Output::File { out, path: path.to_owned(), work }, whole, interfaces)
    }

    /// The same in memory, with the headers of packets; [`Writer::bytes`] gives the bytes, `most` at the
    /// most.
    ///
    /// # Errors
    /// [`CaptureError::Room`].
    pub fn in_memory(most: usize, interfaces: impl Iterator<Item = String>) -> Result<Self, CaptureError> {
        Self::begin_with(Output::Memory { bytes: Vec::new(), most }, false, interfaces)
    }

    fn begin_with(
        output: Output,
        whole: bool,
        interfaces: impl Iterator<Item = String>,
    ) -> Result<Self, CaptureError> {
        let mut writer = Self { output, whole, block: Vec::new(), failed: None };
        writer.section();
        for name in interfaces {
            writer.interface(&name);
        }
        writer.failure()?;
        Ok(writer)
    }

    /// The first error so far.
    pub(crate) fn failure(&mut self) -> Result<(), CaptureError> {
        self.failed.take().map_or(Ok(()), Err)
    }

    /// The bytes of a capture in memory; none if it is in a file.
    pub fn bytes(&mut self) -> Vec<u8> {
        match &mut self.output {
            Output::Memory { bytes, .. } => std::mem::take(bytes),
            Output::File { .. } => Vec::new(),
        }
    }

    /// The file is complete and gets its name.
    ///
    /// # Errors
    /// [`CaptureError::Write`] if anything could not be written.
    pub fn finish(&mut self) -> Result<(), CaptureError> {
        self.failure()?;
        let Output::File { out, path, work } = &mut self.output else { return Ok(()) };
        let error = |source| CaptureError::Write { path: path.clone(), source };
        out.flush().map_err(error)?;
        if let Some(name) = work.take() {
            std::fs::rename(&name, &*path).map_err(|source| {
                *work = Some(name);
                error(source)
            })?;
        }
        Ok(())
    }

    fn section(&mut self) {
        self.begin(SECTION_HEADER);
        self.number(BYTE_ORDER);
        self.block.extend([1_u16, 0].iter().flat_map(|n| n.to_le_bytes())); // version 1.0
        self.block.extend(u64::MAX.to_le_bytes()); // length of the section: not known
        self.option(4, format!("Bentpipe {}", env!("CARGO_PKG_VERSION")).as_bytes()); // shb_userappl
        self.option(0, &[]);
        self.end();
    }

    fn interface(&mut self, name: &str) {
        self.begin(INTERFACE_DESCRIPTION);
        self.number(u32::from(RAW_IP));
        self.number(if self.whole { WHOLE } else { HEADERS });
        self.option(2, &name.as_bytes()[..name.len().min(usize::from(u16::MAX))]); // if_name
        self.option(9, &[9]); // if_tsresol: 10^-9 s
        self.option(0, &[]);
        self.end();
    }

    /// A packet at the interface with this number: its headers, or all of it, and its length with the
    /// payload. Missing bytes of a whole packet are zeros.
    pub fn packet(&mut self, interface: u32, at: Time, headers: &[u8], length: u32) {
        let kept = if self.whole { length } else { headers.len() as u32 };
        self.begin(ENHANCED_PACKET);
        for n in [interface, (at.0 >> 32) as u32, at.0 as u32, kept, length] {
            self.number(n);
        }
        let begin = self.block.len();
        self.block.extend(headers);
        self.block.resize(begin + kept as usize, 0); // the payload
        self.end();
    }

    fn begin(&mut self, kind: u32) {
        self.block.clear();
        self.number(kind);
        self.number(0); // its length, when it is known
    }

    fn number(&mut self, n: u32) {
        self.block.extend(n.to_le_bytes());
    }

    fn option(&mut self, code: u16, value: &[u8]) {
        self.block.extend(code.to_le_bytes());
        self.block.extend((value.len() as u16).to_le_bytes());
        self.block.extend(value);
        self.pad();
    }

    fn pad(&mut self) {
        self.block.resize(self.block.len().next_multiple_of(4), 0);
    }

    fn end(&mut self) {
        self.pad();
        let length = (self.block.len() + 4) as u32;
        self.number(length);
        self.block[4..8].copy_from_slice(&length.to_le_bytes());
        if self.failed.is_some() {
            return;
        }
        match &mut self.output {
            Output::File { out, path, .. } => {
                let written = out.write_all(&self.block);
                self.failed = written.err().map(|source| CaptureError::Write { path: path.clone(), source });
            }
            Output::Memory { bytes, most } if bytes.len() + self.block.len() > *most => {
                self.failed = Some(CaptureError::Room { most: *most });
            }
            Output::Memory { bytes, .. } => bytes.extend(&self.block),
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        if let Output::File { work: Some(work), .. } = &self.output {
            // No error matters here: the name says that the file is incomplete.
            let _ = std::fs::remove_file(work);
        }
    }
}
