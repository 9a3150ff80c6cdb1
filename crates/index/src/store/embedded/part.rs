//! A part: units in two files, records followed by a directory, and vectors.
//!
//! The directory contains an array for each field that is read of many units, and a table of the sources. It is checked
//! when the part is opened; a record when it is read; the vectors when first searched.

use super::{
    super::IndexStoreError,
    codec::{CodecReader, put_text, put_u32, u16_at, u32_at, u64_at},
    file::{ManifestFile, MappedFile, SealedFileWriter, corrupt},
    manifest,
    record::UnitRecord,
};
use crate::{
    embed::Vector,
    unit::{Digest, Genre},
};
use docent_files::ManagedFolder;
use std::{collections::HashMap, sync::OnceLock};
use xxhash_rust::xxh3::xxh3_64;

/// A source in a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SourceEntry<'a> {
    pub(super) collection: &'a str,
    pub(super) path: &'a str,
    pub(super) genre: Genre,
    pub(super) digest: Digest,
    /// Its first unit in the part, and the number of its units.
    pub(super) first: u32,
    pub(super) units: u32,
}

/// A stored unit.
#[derive(Debug, Clone, Copy)]
pub(super) struct StoredUnit<'a> {
    pub(super) kind: &'a str,
    pub(super) language: &'a str,
    /// Terms in each field.
    pub(super) lengths: [u16; 5],
    pub(super) record: &'a [u8],
    /// Its vector, and the scale.
    pub(super) codes: &'a [u8],
    pub(super) scale: f32,
}

/// Distinct short texts, by number.
#[derive(Debug, Default)]
struct NameTable {
    all: Vec<String>,
    numbers: HashMap<String, u16>,
}

impl NameTable {
    fn number(&mut self, name: &str) -> u16 {
        if let Some(&number) = self.numbers.get(name) {
            return number;
        }
        // Kinds and languages are few. If there were more, filters could not distinguish the rest.
        let number = u16::try_from(self.all.len()).unwrap_or(u16::MAX);
        self.all.push(name.to_owned());
        self.numbers.insert(name.to_owned(), number);
        number
    }
}

/// A part being written.
pub(super) struct PartWriter {
    id: u64,
    records: SealedFileWriter,
    vectors: SealedFileWriter,
    rows: Vec<u8>,
    offsets: Vec<u8>,
    slots: Vec<u8>,
    kinds: Vec<u8>,
    languages: Vec<u8>,
    scales: Vec<u8>,
    names: NameTable,
    sources: Vec<u8>,
    source_offsets: Vec<u8>,
    lengths: [u64; 5],
    units: u32,
    source_count: u32,
}

impl PartWriter {
    pub(super) fn create(
        folder: &ManagedFolder,
        id: u64,
        model: &str,
    ) -> Result<Self, IndexStoreError> {
        Ok(Self {
            id,
            records: SealedFileWriter::create(folder, format!("units-{id}"))?,
            vectors: SealedFileWriter::create(folder, vectors_name(id, model))?,
            rows: Vec::new(),
            offsets: Vec::new(),
            slots: Vec::new(),
            kinds: Vec::new(),
            languages: Vec::new(),
            scales: Vec::new(),
            names: NameTable::default(),
            sources: Vec::new(),
            source_offsets: Vec::new(),
            lengths: [0; 5],
            units: 0,
            source_count: 0,
        })
    }

    /// Starts a source with a number of units, which must follow.
    pub(super) fn source(&mut self, entry: &SourceEntry<'_>) {
        put_u32(&mut self.source_offsets, u32::try_from(self.sources.len()).unwrap_or(u32::MAX));
        put_text(&mut self.sources, entry.collection);
        put_text(&mut self.sources, entry.path);
        self.sources.push(u8::from(entry.genre == Genre::Prose));
        self.sources.extend_from_slice(entry.digest.bytes());
        put_u32(&mut self.sources, self.units);
        put_u32(&mut self.sources, entry.units);
        self.source_count += 1;
    }

    /// Adds a unit of the last started source.
    pub(super) fn unit(
        &mut self,
        row: u32,
        stored: &StoredUnit<'_>,
    ) -> Result<(), IndexStoreError> {
        let StoredUnit { kind, language, lengths, record, codes, scale } = *stored;
        put_u32(&mut self.rows, row);
        self.offsets.extend_from_slice(&self.records.position().to_le_bytes());
        put_u32(&mut self.slots, self.source_count - 1);
        self.kinds.extend_from_slice(&self.names.number(kind).to_le_bytes());
        self.languages.extend_from_slice(&self.names.number(language).to_le_bytes());
        self.scales.extend_from_slice(&scale.to_le_bytes());
        for (sum, length) in self.lengths.iter_mut().zip(lengths) {
            *sum += u64::from(length);
        }
        self.units += 1;
        self.records.write(record)?;
        self.vectors.write(codes)
    }

    pub(super) fn units(&self) -> u32 {
        self.units
    }

    /// Syncs both files to disk.
    pub(super) fn finish(mut self) -> Result<manifest::ManifestPart, IndexStoreError> {
        let directory = self.records.position();
        self.offsets.extend_from_slice(&directory.to_le_bytes());
        let mut bytes = self.rows;
        for array in [self.offsets, self.slots, self.kinds, self.languages, self.source_offsets] {
            bytes.extend_from_slice(&array);
        }
        put_u32(&mut bytes, u32::try_from(self.sources.len()).unwrap_or(u32::MAX));
        bytes.extend_from_slice(&self.sources);
        put_u32(&mut bytes, u32::try_from(self.names.all.len()).unwrap_or(u32::MAX));
        self.names.all.iter().for_each(|name| put_text(&mut bytes, name));
        self.records.write(&bytes)?;
        self.vectors.write(&self.scales)?;
        Ok(manifest::ManifestPart {
            id: self.id,
            units: self.units,
            sources: self.source_count,
            records: self.records.finish()?,
            directory,
            directory_hash: format!("{:016x}", xxh3_64(&bytes)),
            lengths: self.lengths,
            vectors: self.vectors.finish()?,
        })
    }
}

/// File name of a part's vectors: one per model, so that both can exist while one replaces the other.
pub(super) fn vectors_name(id: u64, model: &str) -> String {
    format!("vectors-{id}-{:08x}", super::codec::seal(model.as_bytes()))
}

/// An open part.
#[derive(Debug)]
pub(super) struct OpenPart {
    pub(super) meta: manifest::ManifestPart,
    records: MappedFile,
    records_whole: OnceLock<()>,
    pub(super) vectors: PartVectors,
    names: Vec<String>,
    /// Offset of the source table in the directory.
    sources: usize,
    /// Offset of the list of source offsets in the directory.
    source_offsets: usize,
}

impl OpenPart {
    pub(super) fn open(
        folder: &ManagedFolder,
        meta: &manifest::ManifestPart,
        dimensions: usize,
    ) -> Result<Self, IndexStoreError> {
        let records = MappedFile::open(folder, &meta.records)?;
        let file = meta.records.name.as_str();
        let start = usize::try_from(meta.directory).unwrap_or(usize::MAX);
        let directory =
            records.bytes().get(start..).ok_or_else(|| corrupt(file, "it ends too early"))?;
        if format!("{:016x}", xxh3_64(directory)) != meta.directory_hash {
            return Err(corrupt(file, "the checksum of its directory is wrong"));
        }
        let (units, sources) = (meta.units as usize, meta.sources as usize);
        let mut reader = CodecReader::new(directory, file);
        reader.take(units * 4 + (units + 1) * 8 + units * 4 + units * 2 + units * 2)?;
        let source_offsets = units * 20 + 8;
        reader.take(sources * 4)?;
        let length = reader.u32()? as usize;
        reader.take(length)?;
        let names: Result<Vec<String>, IndexStoreError> =
            (0..reader.u32()?).map(|_| reader.text().map(str::to_owned)).collect();
        let names = names?;
        let vectors = PartVectors::open(folder, &meta.vectors, units, dimensions)?;
        let meta = meta.clone();
        let sources = source_offsets + sources * 4 + 4;
        let records_whole = OnceLock::new();
        Ok(Self { meta, records, records_whole, vectors, names, sources, source_offsets })
    }

    fn directory(&self) -> &[u8] {
        let start = usize::try_from(self.meta.directory).unwrap_or(usize::MAX);
        self.records.bytes().get(start..).unwrap_or_default()
    }

    fn array(&self, start: usize) -> &[u8] {
        self.directory().get(start..).unwrap_or_default()
    }

    pub(super) fn len(&self) -> usize {
        self.meta.units as usize
    }

    /// The row of the n-th unit; ascending.
    pub(super) fn row(&self, n: usize) -> u32 {
        u32_at(self.directory(), n)
    }

    /// The unit with this row.
    pub(super) fn find(&self, row: u32) -> Option<usize> {
        let first = self.row(0);
        // Until parts are merged, rows are consecutive.
        let guess = usize::try_from(row.checked_sub(first)?).ok()?;
        if guess < self.len() && self.row(guess) == row {
            return Some(guess);
        }
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = usize::midpoint(low, high);
            if self.row(middle) < row {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        (low < self.len() && self.row(low) == row).then_some(low)
    }

    /// The bytes of the n-th record, unchecked.
    pub(super) fn raw(&self, n: usize) -> &[u8] {
        let offsets = self.array(self.len() * 4);
        let at = |n| usize::try_from(u64_at(offsets, n)).unwrap_or(usize::MAX);
        self.records.bytes().get(at(n)..at(n + 1)).unwrap_or_default()
    }

    pub(super) fn record(&self, n: usize) -> Result<UnitRecord<'_>, IndexStoreError> {
        UnitRecord::open(self.raw(n), &self.meta.records.name)
    }

    /// Checks every record once: a part never changes, and stays open across generations.
    pub(super) fn verify_records(&self) -> Result<(), IndexStoreError> {
        if self.records_whole.get().is_none() {
            (0..self.len()).try_for_each(|n| self.record(n).map(drop))?;
            self.records_whole.get_or_init(|| ());
        }
        Ok(())
    }

    /// The source of the n-th unit.
    pub(super) fn slot(&self, n: usize) -> u32 {
        u32_at(self.array(self.len() * 12 + 8), n)
    }

    pub(super) fn kind(&self, n: usize) -> &str {
        self.name(u16_at(self.array(self.len() * 16 + 8), n))
    }

    pub(super) fn language(&self, n: usize) -> &str {
        self.name(u16_at(self.array(self.len() * 18 + 8), n))
    }

    fn name(&self, number: u16) -> &str {
        self.names.get(usize::from(number)).map_or("", String::as_str)
    }

    pub(super) fn source(&self, slot: u32) -> Result<SourceEntry<'_>, IndexStoreError> {
        let offset = u32_at(self.array(self.source_offsets), slot as usize) as usize;
        let mut reader =
            CodecReader::new(self.array(self.sources + offset), &self.meta.records.name);
        let entry = SourceEntry {
            collection: reader.text()?,
            path: reader.text()?,
            genre: if reader.u8()? == 0 { Genre::Code } else { Genre::Prose },
            digest: Digest::from_bytes(reader.take(16)?.try_into().unwrap_or_default()),
            first: reader.u32()?,
            units: reader.u32()?,
        };
        // Readers of a source iterate over all its units.
        let is_within =
            entry.first.checked_add(entry.units).is_some_and(|end| end <= self.meta.units);
        if is_within { Ok(entry) } else { Err(reader.corrupt("it has fewer units than a source")) }
    }
}

/// The vectors of a part: all codes, then all scales.
#[derive(Debug)]
pub(super) struct PartVectors {
    sealed: ManifestFile,
    mapped: MappedFile,
    count: usize,
    dimensions: usize,
    whole: OnceLock<bool>,
}

impl PartVectors {
    fn open(
        folder: &ManagedFolder,
        sealed: &ManifestFile,
        count: usize,
        dimensions: usize,
    ) -> Result<Self, IndexStoreError> {
        let mapped = MappedFile::open(folder, sealed)?;
        if mapped.bytes().len() != count * (dimensions + 4) {
            return Err(corrupt(&sealed.name, "its size does not match its units"));
        }
        Ok(Self { sealed: sealed.clone(), mapped, count, dimensions, whole: OnceLock::new() })
    }

    /// Checks the file once.
    pub(super) fn verify(&self) -> Result<(), IndexStoreError> {
        if *self.whole.get_or_init(|| self.mapped.verify(&self.sealed).is_ok()) {
            return Ok(());
        }
        Err(corrupt(&self.sealed.name, "its checksum is wrong"))
    }

    /// The codes of consecutive units.
    pub(super) fn codes(&self, from: usize, to: usize) -> &[u8] {
        let range = from * self.dimensions..to * self.dimensions;
        self.mapped.bytes().get(range).unwrap_or_default()
    }

    pub(super) fn scale(&self, n: usize) -> f32 {
        let scales = self.mapped.bytes().get(self.count * self.dimensions..).unwrap_or_default();
        f32::from_bits(u32_at(scales, n))
    }

    pub(super) fn vector(&self, n: usize) -> Vector {
        let codes = self.codes(n, n + 1).iter().map(|code| code.cast_signed()).collect();
        Vector::from_parts(codes, self.scale(n))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_has_no_units_but_those_of_its_part() {
        let place = tempfile::tempdir().unwrap();
        let folder = ManagedFolder::resolve(place.path());
        for (units, is_whole) in [(1, true), (2, false), (u32::MAX, false)] {
            let mut part = PartWriter::create(&folder, u64::from(units), "m").unwrap();
            let digest = Digest::of(&[b"x"]);
            let (collection, path) = ("c", "a.rs");
            let genre = Genre::Code;
            part.source(&SourceEntry { collection, path, genre, digest, first: 0, units });
            let (kind, language) = ("function", "rust");
            let (record, codes) = (b"r".as_slice(), [0, 0].as_slice());
            let lengths = [1; 5];
            part.unit(0, &StoredUnit { kind, language, lengths, record, codes, scale: 1.0 })
                .unwrap();
            let part = OpenPart::open(&folder, &part.finish().unwrap(), 2).unwrap();
            let source = part.source(0);
            assert_eq!(source.is_ok(), is_whole, "{units}: {source:?}");
        }
    }
}
