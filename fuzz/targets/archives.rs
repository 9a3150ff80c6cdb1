//! Archives, valid and fuzzed: entries stay inside their folder, appear once, and are within the limits.
#![no_main]

mod gz;
mod packing;

use docent_prose::{Archive, ArchiveLimits};
use libfuzzer_sys::fuzz_target;
use std::{
    collections::HashSet,
    path::{Component, Path},
};

const LIMITS: ArchiveLimits =
    ArchiveLimits { entries: 20, entry_bytes: 4 << 10, total_bytes: 64 << 10, ratio: 200 };

fuzz_target!(|bytes: &[u8]| {
    let parts = packing::parts(bytes);
    let tar = tar(&parts);
    for made in [&tar, bytes] {
        unpack(Archive::Tar, made);
        unpack(Archive::TarGz, &gz::gz(made));
    }
    unpack(Archive::TarGz, bytes);
    unpack(Archive::Zip, &packing::zip(&parts));
    unpack(Archive::Zip, bytes);
});

fn unpack(archive: Archive, bytes: &[u8]) {
    let (mut seen, mut total) = (HashSet::new(), 0);
    let result = archive.entries(bytes, &LIMITS, &|path| !path.ends_with(".png"), &mut |entry| {
        assert!(
            Path::new(entry.path).components().all(|part| matches!(part, Component::Normal(_))),
            "{}",
            entry.path
        );
        assert!(
            !entry.path.contains(['\\', '\0']) && !entry.path.ends_with(".png"),
            "{}",
            entry.path
        );
        assert!(entry.bytes.len() as u64 <= LIMITS.entry_bytes);
        assert!(seen.insert(entry.path.to_owned()), "{} appears twice", entry.path);
        total += entry.bytes.len() as u64;
    });
    assert!(
        seen.len() <= LIMITS.entries && (archive == Archive::Tar || total <= LIMITS.total_bytes)
    );
    if let Err(error) = result {
        assert!(!error.to_string().is_empty());
    }
}

/// Builds a tar archive. The first letter of a name is the file's type, so that links and long names occur.
fn tar(parts: &[(&[u8], &[u8])]) -> Vec<u8> {
    let mut tar = Vec::new();
    for (name, body) in parts {
        let (kind, name) = name.split_first().unwrap_or((&b'0', &[]));
        let mut header = [0; 512];
        let short = name.len().min(100);
        header[..short].copy_from_slice(&name[..short]);
        header[124..135].copy_from_slice(format!("{:011o}", body.len()).as_bytes());
        header[148..156].fill(b' ');
        header[156] = *kind;
        header[257..265].copy_from_slice(b"ustar\x0000");
        let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
        header[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
        tar.extend(header);
        tar.extend_from_slice(body);
        tar.resize(tar.len().next_multiple_of(512), 0);
    }
    tar.extend([0; 1024]);
    tar
}
