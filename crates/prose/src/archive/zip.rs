//! Zip archives, read by their central directory, or by local headers if it is truncated.

use super::{ArchiveIntake, MIN_RATIO_CHECK_BYTES};
use crate::format::Unreadable;
use flate2::{Crc, bufread::DeflateDecoder};
use std::io::Read;

/// The upper 128 characters of code page 437, used by names without the UTF-8 flag.
const CP437_UPPER_HALF: &str = "ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u{a0}";
/// Maximum members read from a directory; the caller's limit is usually lower.
const MAX_DIRECTORY_MEMBERS: usize = 1_000_000;

/// A directory entry of a member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ZipMember {
    /// Decoded, but not checked.
    pub(crate) name: String,
    flags: u16,
    method: u16,
    crc: u32,
    packed: u64,
    /// Its claimed unpacked size.
    pub(crate) size: u64,
    at: u64,
    mode: u32,
}

/// All members, and whether the archive is complete.
#[derive(Debug)]
pub(crate) struct Directory {
    pub(crate) members: Vec<ZipMember>,
    pub(crate) whole: bool,
}

impl ZipMember {
    /// Whether it can't be unpacked without a password.
    pub(crate) const fn is_encrypted(&self) -> bool {
        self.flags & 1 != 0
    }

    fn is_folder(&self) -> bool {
        self.name.ends_with('/') || self.name.ends_with('\\') && self.size == 0
    }

    /// Why it is not a plain file, if so.
    const fn unfit(&self) -> Option<&'static str> {
        match self.mode & 0o170_000 {
            0o120_000 => return Some("links are not followed"),
            0 | 0o040_000 | 0o100_000 => {}
            _ => return Some("devices are not read"),
        }
        if self.is_encrypted() {
            return Some("it is encrypted");
        }
        if !matches!(self.method, 0 | 8) {
            return Some("its compression method is not supported");
        }
        None
    }
}

/// Reads the members of an archive.
pub(super) fn entries(bytes: &[u8], intake: &mut ArchiveIntake<'_>) -> Result<(), Unreadable> {
    let mut directory = directory(bytes)?;
    if !directory.whole {
        intake.problems.add("", "its end is missing; only the part before is read");
    }
    // Sorted by position, so that overlaps are detected.
    directory.members.sort_by_key(|member| member.at);
    let (mut total, mut free) = (0_u64, 0_u64);
    for member in &directory.members {
        if !intake.has_room() {
            break;
        }
        let Some((start, data)) = data(bytes, member) else {
            intake.problems.add(&member.name, "it lies outside the archive");
            continue;
        };
        if member.at < free {
            intake.problems.add(&member.name, "it overlaps another file of the archive");
            continue;
        }
        free = (start + data.len()) as u64;
        if member.is_folder() {
            continue;
        }
        if let Some(what) = member.unfit() {
            intake.problems.add(&member.name, what);
            continue;
        }
        let bomb = member.size > MIN_RATIO_CHECK_BYTES
            && member.size / intake.limits.ratio.max(1) > member.packed;
        if bomb {
            return Err(intake.too_large());
        }
        let Some(path) = intake.path(&member.name, member.size) else { continue };
        total = total.saturating_add(member.size);
        if total > intake.limits.total_bytes {
            return Err(intake.too_large());
        }
        match unpack(data, member) {
            Ok(unpacked) => intake.hand_out(&path, &unpacked),
            Err(what) => intake.problems.add(&path, what),
        }
    }
    Ok(())
}

/// The members listed by an archive.
pub(crate) fn directory(bytes: &[u8]) -> Result<Directory, Unreadable> {
    if let Some(members) = central(bytes) {
        return Ok(Directory { members, whole: true });
    }
    let members = local(bytes);
    if members.is_empty() {
        let reason = "it has no directory; it may be truncated".to_owned();
        return Err(Unreadable::Damaged { format: "zip", reason });
    }
    Ok(Directory { members, whole: false })
}

/// A member's packed bytes and where they start.
fn data<'b>(bytes: &'b [u8], member: &ZipMember) -> Option<(usize, &'b [u8])> {
    let at = usize::try_from(member.at).ok()?;
    let header = LittleEndianFields(bytes.get(at..at.checked_add(30)?)?);
    if header.u32(0)? != 0x0403_4b50 {
        return None;
    }
    let start = at + 30 + usize::from(header.u16(26)?) + usize::from(header.u16(28)?);
    let end = start.checked_add(usize::try_from(member.packed).ok()?)?;
    Some((start, bytes.get(start..end)?))
}

/// The content of a member: at most its claimed size, with a matching checksum.
fn unpack(data: &[u8], member: &ZipMember) -> Result<Vec<u8>, &'static str> {
    let mut unpacked = Vec::new();
    let read = match member.method {
        0 => data.take(member.size.saturating_add(1)).read_to_end(&mut unpacked),
        _ => {
            DeflateDecoder::new(data).take(member.size.saturating_add(1)).read_to_end(&mut unpacked)
        }
    };
    if read.is_err() {
        return Err("it is damaged");
    }
    if unpacked.len() as u64 != member.size {
        return Err("its size differs from the archive's directory");
    }
    let mut crc = Crc::new();
    crc.update(&unpacked);
    if crc.sum() != member.crc {
        return Err("its checksum is wrong");
    }
    Ok(unpacked)
}

/// Reads one member by name, up to a maximum size.
pub(crate) fn part(bytes: &[u8], member: &ZipMember, limit: u64) -> Result<Vec<u8>, Unreadable> {
    if member.size > limit {
        return Err(Unreadable::TooLarge { limit });
    }
    if member.is_encrypted() {
        return Err(Unreadable::Encrypted);
    }
    let damaged = |what: &str| Unreadable::Damaged {
        format: "zip",
        reason: format!("{}: {what}", member.name),
    };
    if let Some(what) = member.unfit() {
        return Err(damaged(what));
    }
    let (_, data) = data(bytes, member).ok_or_else(|| damaged("it is cut off"))?;
    unpack(data, member).map_err(damaged)
}

/// Little-endian numbers of a record.
struct LittleEndianFields<'a>(&'a [u8]);

impl LittleEndianFields<'_> {
    fn u16(&self, at: usize) -> Option<u16> {
        Some(u16::from_le_bytes(self.0.get(at..at + 2)?.try_into().ok()?))
    }

    fn u32(&self, at: usize) -> Option<u32> {
        Some(u32::from_le_bytes(self.0.get(at..at + 4)?.try_into().ok()?))
    }

    fn u64(&self, at: usize) -> Option<u64> {
        Some(u64::from_le_bytes(self.0.get(at..at.checked_add(8)?)?.try_into().ok()?))
    }
}

/// The members of the central directory; `None` without one.
fn central(bytes: &[u8]) -> Option<Vec<ZipMember>> {
    let from = bytes.len().saturating_sub(22 + usize::from(u16::MAX));
    let tail = bytes.get(from..)?;
    let end = from + tail.windows(4).rposition(|window| window == b"PK\x05\x06")?;
    let record = LittleEndianFields(bytes.get(end..)?);
    let mut size = u64::from(record.u32(12)?);
    let mut start = u64::from(record.u32(16)?);
    let mut before = end as u64;
    if let Some(large) = zip64_end(bytes, end) {
        let record = LittleEndianFields(bytes.get(large..)?);
        (size, start, before) = (record.u64(40)?, record.u64(48)?, large as u64);
    }
    // Data before the archive, such as a self-extractor, shifts all offsets.
    let shift = before.checked_sub(size)?.checked_sub(start)?;
    let mut at = usize::try_from(start + shift).ok()?;
    let mut members = Vec::new();
    while members.len() < MAX_DIRECTORY_MEMBERS {
        let Some(header) = bytes.get(at..at.checked_add(46)?) else { break };
        let header = LittleEndianFields(header);
        if header.u32(0)? != 0x0201_4b50 {
            break;
        }
        let name = usize::from(header.u16(28)?);
        let extra = usize::from(header.u16(30)?);
        let comment = usize::from(header.u16(32)?);
        let name_bytes = bytes.get(at + 46..at + 46 + name)?;
        let flags = header.u16(8)?;
        let unix = header.u16(4)? >> 8 == 3;
        let mut member = ZipMember {
            name: decode_name(name_bytes, flags),
            flags,
            method: header.u16(10)?,
            crc: header.u32(16)?,
            packed: u64::from(header.u32(20)?),
            size: u64::from(header.u32(24)?),
            at: u64::from(header.u32(42)?),
            mode: if unix { header.u32(38)? >> 16 } else { 0 },
        };
        widen(&mut member, bytes.get(at + 46 + name..at + 46 + name + extra)?);
        member.at = member.at.checked_add(shift)?;
        members.push(member);
        at += 46 + name + extra + comment;
    }
    Some(members)
}

/// Where the record of a large archive starts, if there is one.
fn zip64_end(bytes: &[u8], end: usize) -> Option<usize> {
    let locator = LittleEndianFields(bytes.get(end.checked_sub(20)?..end)?);
    if locator.u32(0)? != 0x0706_4b50 {
        return None;
    }
    let said = usize::try_from(locator.u64(8)?).ok()?;
    let near = end.checked_sub(20 + 56)?;
    // The offset is off if data precedes the archive; the record is then right before its locator.
    let is = |at: usize| bytes.get(at..).is_some_and(|record| record.starts_with(b"PK\x06\x06"));
    [said, near].into_iter().find(|at| is(*at))
}

/// Sizes too large for the header are in an extra field, each only if needed.
fn widen(member: &mut ZipMember, mut extra: &[u8]) {
    const FULL: u64 = u32::MAX as u64;
    while let (Some(id), Some(length)) =
        (LittleEndianFields(extra).u16(0), LittleEndianFields(extra).u16(2))
    {
        let Some(field) = extra.get(4..4 + usize::from(length)) else { return };
        if id == 1 {
            let wide = [&mut member.size, &mut member.packed, &mut member.at];
            let mut at = 0;
            for value in wide {
                if *value == FULL
                    && let Some(number) = LittleEndianFields(field).u64(at)
                {
                    *value = number;
                    at += 8;
                }
            }
        }
        extra = extra.get(4 + usize::from(length)..).unwrap_or_default();
    }
}

/// The members of a truncated archive, by their local headers, up to the first incomplete one.
fn local(bytes: &[u8]) -> Vec<ZipMember> {
    let mut members = Vec::new();
    let mut at = 0;
    while members.len() < MAX_DIRECTORY_MEMBERS
        && let Some((member, next)) = local_member(bytes, at)
    {
        members.push(member);
        at = next;
    }
    members
}

fn local_member(bytes: &[u8], at: usize) -> Option<(ZipMember, usize)> {
    let header = LittleEndianFields(bytes.get(at..at.checked_add(30)?)?);
    if header.u32(0)? != 0x0403_4b50 {
        return None;
    }
    let (name, extra) = (usize::from(header.u16(26)?), usize::from(header.u16(28)?));
    let name_bytes = bytes.get(at + 30..at + 30 + name)?;
    let flags = header.u16(6)?;
    // Sizes after the data are only found through the directory.
    if flags & 8 != 0 {
        return None;
    }
    let mut member = ZipMember {
        name: decode_name(name_bytes, flags),
        flags,
        method: header.u16(8)?,
        crc: header.u32(14)?,
        packed: u64::from(header.u32(18)?),
        size: u64::from(header.u32(22)?),
        at: at as u64,
        mode: 0,
    };
    widen(&mut member, bytes.get(at + 30 + name..at + 30 + name + extra)?);
    let end = (at + 30 + name + extra).checked_add(usize::try_from(member.packed).ok()?)?;
    (end <= bytes.len()).then_some((member, end))
}

/// Decodes a name: by its flag, as UTF-8 if valid, or else by code page 437.
fn decode_name(name: &[u8], flags: u16) -> String {
    if flags & (1 << 11) != 0 {
        return String::from_utf8_lossy(name).into_owned();
    }
    if let Ok(name) = std::str::from_utf8(name) {
        return name.to_owned();
    }
    let letter = |byte: &u8| match byte.checked_sub(128) {
        None => char::from(*byte),
        Some(upper) => {
            CP437_UPPER_HALF.chars().nth(upper.into()).unwrap_or(char::REPLACEMENT_CHARACTER)
        }
    };
    name.iter().map(letter).collect()
}
