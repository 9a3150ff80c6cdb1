//! Valid, odd, broken and hostile archives.

use super::*;
use flate2::{
    Compression, Crc,
    write::{DeflateEncoder, GzEncoder},
};
use std::io::Write;
use tar::{Builder, EntryType, Header};

/// How a member of a zip archive differs from a plain one.
#[derive(Clone, Copy, Default)]
struct Odd {
    flags: u16,
    mode: u32,
    /// Its claimed unpacked size, if false.
    size: Option<u32>,
    /// Its claimed offset, if false.
    at: Option<u32>,
}

/// A zip archive of plain members.
pub(crate) fn zip(members: &[(&str, &[u8])]) -> Vec<u8> {
    let members: Vec<_> =
        members.iter().map(|(name, bytes)| (name.as_bytes(), *bytes, Odd::default())).collect();
    odd_zip(&members)
}

fn odd_zip(members: &[(&[u8], &[u8], Odd)]) -> Vec<u8> {
    let (mut archive, mut directory) = (Vec::new(), Vec::new());
    for (name, bytes, odd) in members {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(bytes).unwrap();
        let packed = encoder.finish().unwrap();
        let mut crc = Crc::new();
        crc.update(bytes);
        let length = |bytes: &[u8]| u32::try_from(bytes.len()).unwrap();
        let at = odd.at.unwrap_or(length(&archive));
        let mut fields = Vec::new();
        fields.extend(odd.flags.to_le_bytes());
        fields.extend([8, 0, 0, 0, 0, 0]);
        fields.extend(crc.sum().to_le_bytes());
        fields.extend(length(&packed).to_le_bytes());
        fields.extend(odd.size.unwrap_or(length(bytes)).to_le_bytes());
        fields.extend(u16::try_from(name.len()).unwrap().to_le_bytes());
        fields.extend([0, 0]);
        directory.extend(b"PK\x01\x02\x14\x03\x14\x00");
        directory.extend(&fields);
        directory.extend([0; 6]);
        directory.extend((odd.mode << 16).to_le_bytes());
        directory.extend(at.to_le_bytes());
        directory.extend(*name);
        archive.extend(b"PK\x03\x04\x14\x00");
        archive.extend(&fields);
        archive.extend(*name);
        archive.extend(&packed);
    }
    let (size, start) = (directory.len(), archive.len());
    archive.extend(directory);
    archive.extend(b"PK\x05\x06\0\0\0\0\0\0\0\0");
    archive.extend(u32::try_from(size).unwrap().to_le_bytes());
    archive.extend(u32::try_from(start).unwrap().to_le_bytes());
    archive.extend([0, 0]);
    archive
}

fn tar(members: &[(&str, &[u8], EntryType)]) -> Vec<u8> {
    let mut builder = Builder::new(Vec::new());
    for (name, bytes, kind) in members {
        let mut header = Header::new_gnu();
        header.set_entry_type(*kind);
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        // The crate refuses to write what must be refused when it is read.
        match header.set_path(name) {
            Ok(()) => {}
            Err(_) if name.len() < 100 => {
                header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
            }
            Err(_) => {
                builder.append_data(&mut header, name, *bytes).unwrap();
                continue;
            }
        }
        header.set_cksum();
        builder.append(&header, *bytes).unwrap();
    }
    builder.into_inner().unwrap()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

type Files = Vec<(String, Vec<u8>)>;

fn read_all(
    archive: Archive,
    bytes: &[u8],
    limits: &ArchiveLimits,
) -> (Files, Result<ArchiveProblems, Unreadable>) {
    let mut files = Vec::new();
    let each =
        &mut |entry: ArchiveEntry<'_>| files.push((entry.path.to_owned(), entry.bytes.to_vec()));
    let read = archive.entries(bytes, limits, &|_| true, each);
    (files, read)
}

/// The paths read, and the problems listed.
fn check(archive: Archive, bytes: &[u8], paths: &[&str], problems: &[&str]) {
    let (files, read) = read_all(archive, bytes, &ArchiveLimits::default());
    let got: Vec<&str> = files.iter().map(|(path, _)| path.as_str()).collect();
    assert_eq!(got, paths, "{archive:?}");
    assert_eq!(read.unwrap().listed, problems, "{archive:?}");
}

#[test]
fn archives_are_detected_by_name() {
    for (path, want) in [
        ("a/b.zip", Some(Archive::Zip)),
        ("b.TAR", Some(Archive::Tar)),
        ("b.tar.gz", Some(Archive::TarGz)),
        ("b.tgz", Some(Archive::TarGz)),
        ("b.gz", None),
        (".zip", None),
        ("a.zip/b", None),
    ] {
        assert_eq!(Archive::from_path(path), want, "{path}");
    }
}

#[test]
fn files_are_handed_out_one_by_one() {
    let long = format!("{}/c.md", "d".repeat(150));
    let regular = EntryType::Regular;
    let members: [(&str, &[u8], EntryType); 4] = [
        ("a.md", b"A", regular),
        ("d/", b"", EntryType::Directory),
        ("./d/b.md", b"", regular),
        (&long, b"C", regular),
    ];
    let plain = tar(&members);
    let zipped: Vec<(&str, &[u8])> =
        members.iter().map(|(name, bytes, _)| (*name, *bytes)).collect();
    let want: Files = vec![
        ("a.md".into(), b"A".to_vec()),
        ("d/b.md".into(), vec![]),
        (long.clone(), b"C".to_vec()),
    ];
    for (archive, bytes) in [
        (Archive::Tar, plain.clone()),
        (Archive::TarGz, gzip(&plain)),
        (Archive::Zip, zip(&zipped)),
    ] {
        let (files, read) = read_all(archive, &bytes, &ArchiveLimits::default());
        assert_eq!((files, read), (want.clone(), Ok(ArchiveProblems::default())), "{archive:?}");
        let mut some = Vec::new();
        let wanted = |path: &str| path.starts_with('a');
        let each = &mut |entry: ArchiveEntry<'_>| some.push(entry.path.to_owned());
        archive.entries(&bytes, &ArchiveLimits::default(), &wanted, each).unwrap();
        assert_eq!(some, ["a.md"]);
    }
}

#[test]
fn names_that_lead_outside_are_not_handed_out() {
    let names = ["../a", "/etc/a", "C:\\a", "a\\..\\..\\b", "d/../a", "ok.md", "ok.md", "x.zip"];
    let problems = [
        "../a: its name leads outside the archive",
        "/etc/a: its name is an absolute path",
        "C:\\a: its name is an absolute path",
        "a\\..\\..\\b: its name leads outside the archive",
        "d/../a: its name leads outside the archive",
        "ok.md: duplicate name; only the first is read",
        "x.zip: nested archives are not opened",
    ];
    let zipped: Vec<(&str, &[u8])> = names.iter().map(|name| (*name, &b"x"[..])).collect();
    check(Archive::Zip, &zip(&zipped), &["ok.md"], &problems);
    let taped: Vec<_> = names.iter().map(|name| (*name, &b"x"[..], EntryType::Regular)).collect();
    check(Archive::Tar, &tar(&taped), &["ok.md"], &problems);
    assert_eq!(inside("a\0b"), Err("its name contains a NUL byte"));
    assert_eq!(inside("./"), Err("it has no name"));
    assert_eq!(inside(&"a".repeat(5000)), Err("its name is too long"));
    assert_eq!(inside("a\\b/./c"), Ok("a/b/c".to_owned()));
}

#[test]
fn links_devices_and_secrets_are_reported() {
    let odd = |flags, mode| Odd { flags, mode, ..Odd::default() };
    let archive = odd_zip(&[
        (b"link", b"/etc/passwd", odd(0, 0o120_777)),
        (b"device", b"", odd(0, 0o020_666)),
        (b"secret", b"x", odd(1, 0)),
        (b"old \x81.md", b"x", odd(0, 0o100_644)),
        ("neu ü.md".as_bytes(), b"x", odd(1 << 11, 0)),
        (b"lie.md", b"xyz", Odd { size: Some(2), ..Odd::default() }),
    ]);
    let problems = [
        "link: links are not followed",
        "device: devices are not read",
        "secret: it is encrypted",
        "lie.md: its size differs from the archive's directory",
    ];
    check(Archive::Zip, &archive, &["old ü.md", "neu ü.md"], &problems);
    let archive = tar(&[
        ("soft", b"", EntryType::Symlink),
        ("hard", b"", EntryType::Link),
        ("device", b"", EntryType::Char),
        ("a.md", b"x", EntryType::Regular),
    ]);
    let problems = [
        "soft: links are not followed",
        "hard: links are not followed",
        "device: devices are not read",
    ];
    check(Archive::Tar, &archive, &["a.md"], &problems);
}

#[test]
fn overlapping_files_are_read_once() {
    let again = Odd { at: Some(0), ..Odd::default() };
    let archive = odd_zip(&[
        (b"a.md", b"x", Odd::default()),
        (b"b.md", b"x", again),
        (b"c.md", b"x", Odd { at: Some(999_999), ..Odd::default() }),
    ]);
    let problems =
        ["b.md: it overlaps another file of the archive", "c.md: it lies outside the archive"];
    check(Archive::Zip, &archive, &["a.md"], &problems);
}

#[test]
fn bombs_end_the_reading_after_what_came_before() {
    let zeros = vec![0; 12 << 20];
    let large = Err(Unreadable::TooLarge { limit: ArchiveLimits::default().total_bytes });
    let members: [(&str, &[u8]); 2] = [("a.md", b"x"), ("bomb.md", &zeros)];
    let (files, read) = read_all(Archive::Zip, &zip(&members), &ArchiveLimits::default());
    assert_eq!((files.len(), &read), (1, &large));
    let taped = members.map(|(name, bytes)| (name, bytes, EntryType::Regular));
    let (files, read) = read_all(Archive::TarGz, &gzip(&tar(&taped)), &ArchiveLimits::default());
    assert_eq!((files.len(), &read), (1, &large));

    let total = ArchiveLimits { total_bytes: 5000, ..ArchiveLimits::default() };
    let bytes = [b'x'; 2000];
    let many = ["a", "b", "c", "d"].map(|name| (name, &bytes[..]));
    let (files, read) = read_all(Archive::Zip, &zip(&many), &total);
    assert_eq!((files.len(), read), (2, Err(Unreadable::TooLarge { limit: 5000 })));
    let taped = many.map(|(name, bytes)| (name, bytes, EntryType::Regular));
    let (files, read) = read_all(Archive::TarGz, &gzip(&tar(&taped)), &total);
    assert_eq!((files.len(), read), (1, Err(Unreadable::TooLarge { limit: 5000 })));
}

#[test]
fn large_files_and_too_many_are_skipped_and_reported() {
    let limits = ArchiveLimits { entries: 2, entry_bytes: 3, ..ArchiveLimits::default() };
    let members: [(&str, &[u8]); 3] = [("large", b"xxxx"), ("small", b"xxx"), ("third", b"")];
    let taped = members.map(|(name, bytes)| (name, bytes, EntryType::Regular));
    for (archive, bytes) in [(Archive::Zip, zip(&members)), (Archive::Tar, tar(&taped))] {
        let (files, read) = read_all(archive, &bytes, &limits);
        assert_eq!(files, [("small".to_owned(), b"xxx".to_vec())]);
        let want = [
            "large: it has 4 bytes; the limit is 3",
            "it contains more than 2 files; the rest is skipped",
        ];
        assert_eq!(read.unwrap().listed, want);
    }
}

#[test]
fn problems_are_counted_after_a_hundred() {
    let names: Vec<String> = (0..150).map(|n| format!("../{n}")).collect();
    let members: Vec<(&str, &[u8])> = names.iter().map(|name| (name.as_str(), &b""[..])).collect();
    let (_, read) = read_all(Archive::Zip, &zip(&members), &ArchiveLimits::default());
    let problems = read.unwrap();
    assert_eq!((problems.listed.len(), problems.more), (100, 50));
}

#[test]
fn what_is_cut_off_gives_what_came_before() {
    let noise = |seed: u32| -> Vec<u8> {
        let numbers = (0..4000_u32).map(|n| (n ^ seed).wrapping_mul(2_654_435_761));
        numbers.flat_map(|number| (number ^ number >> 15).to_le_bytes()).collect()
    };
    let (first, second) = (noise(1), noise(1 << 20));
    let members: [(&str, &[u8]); 2] = [("a.md", &first), ("b.md", &second)];
    let taped = members.map(|(name, bytes)| (name, bytes, EntryType::Regular));
    let plain = tar(&taped);
    let cases = [
        (Archive::Zip, zip(&members), "its end is missing; only the part before is read"),
        (Archive::Tar, plain.clone(), "it is damaged or truncated; only the part before is read"),
        (Archive::TarGz, gzip(&plain), "it is damaged or truncated; only the part before is read"),
    ];
    for (archive, whole, problem) in cases {
        let (files, read) =
            read_all(archive, &whole[..whole.len() * 3 / 4], &ArchiveLimits::default());
        let got: Vec<(&str, bool)> =
            files.iter().map(|(path, bytes)| (path.as_str(), *bytes == first)).collect();
        assert_eq!(got, [("a.md", true)], "{archive:?}");
        assert_eq!(read.unwrap().listed, [problem], "{archive:?}");
        // Whatever is left of it, it ends.
        for length in (0..whole.len()).step_by(whole.len() / 100) {
            let (files, _) = read_all(archive, &whole[..length], &ArchiveLimits::default());
            assert!(files.len() < 3);
            let mut broken = whole.clone();
            broken[length] ^= 0x55;
            let (files, _) = read_all(archive, &broken, &ArchiveLimits::default());
            assert!(files.len() < 3);
        }
    }
}
