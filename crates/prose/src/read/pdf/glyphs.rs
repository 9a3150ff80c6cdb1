//! The characters of a page with their positions, from its content operators.

use super::bounds::{MAX_STREAM_BYTES, MAX_TOTAL_UNPACKED_BYTES};
use crate::format::Unreadable;
use flate2::bufread::ZlibDecoder;
use hayro_font::{
    CMapResolverFn, Font, FontCache, FontGlyph, FontQuery, FontResolverFn, hayro_cmap::BfString,
};
use hayro_syntax::{
    Filter,
    content::{TypedIter, ops::TypedInstruction},
    object::{Array, Dict, Name, Number, Object, Stream, String as Bytes},
    page::{Page, Resources, Rotation},
};
use std::{collections::HashMap, io::Read, rc::Rc, sync::Arc};

/// Maximum characters of one page; more are a drawing or an attack on time.
const MAX_PAGE_GLYPHS: usize = 400_000;
/// Maximum operators of one page.
const MAX_PAGE_OPERATORS: usize = 4_000_000;
/// Maximum nesting of forms.
const MAX_FORM_DEPTH: usize = 12;
/// Maximum nesting of saved states.
const MAX_SAVED_STATES: usize = 256;

/// A glyph: a character, or several drawn as one.
#[derive(Debug, Clone)]
pub(super) struct Glyph {
    pub(super) text: BfString,
    /// Where it starts and where the next one would, along the line.
    pub(super) start: f64,
    pub(super) end: f64,
    /// The vertical position of its line.
    pub(super) height: f64,
    pub(super) size: f64,
    pub(super) mono: bool,
    pub(super) bold: bool,
    /// Which way its line runs: 0 to the right, then by quarter turns to the left.
    pub(super) turn: u8,
}

/// The characters of a page.
#[derive(Debug, Default)]
pub(super) struct PdfPageText {
    pub(super) glyphs: Vec<Glyph>,
    /// Characters without a Unicode mapping.
    pub(super) unknown: usize,
    /// Whether the page exceeded the limits.
    pub(super) cut: bool,
    /// Whether it has images.
    pub(super) pictures: bool,
}

/// `x' = a x + c y + e`, `y' = b x + d y + f`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Matrix([f64; 6]);

impl Matrix {
    const SAME: Self = Self([1.0, 0.0, 0.0, 1.0, 0.0, 0.0]);

    const fn shift(x: f64, y: f64) -> Self {
        Self([1.0, 0.0, 0.0, 1.0, x, y])
    }

    /// How a page is turned before it is shown.
    pub(super) const fn from_rotation(rotation: Rotation) -> Self {
        match rotation {
            Rotation::None => Self::SAME,
            Rotation::Horizontal => Self([0.0, -1.0, 1.0, 0.0, 0.0, 0.0]),
            Rotation::Flipped => Self([-1.0, 0.0, 0.0, -1.0, 0.0, 0.0]),
            Rotation::FlippedHorizontal => Self([0.0, 1.0, -1.0, 0.0, 0.0, 0.0]),
        }
    }

    pub(super) fn apply(self, x: f64, y: f64) -> (f64, f64) {
        let m = self.0;
        (m[0] * x + m[2] * y + m[4], m[1] * x + m[3] * y + m[5])
    }

    /// First this, then the other.
    fn then(self, other: Self) -> Self {
        let (m, n) = (self.0, other.0);
        let (x, y) = other.apply(m[4], m[5]);
        Self([
            m[0] * n[0] + m[1] * n[2],
            m[0] * n[1] + m[1] * n[3],
            m[2] * n[0] + m[3] * n[2],
            m[2] * n[1] + m[3] * n[3],
            x,
            y,
        ])
    }
}

/// A font, with properties derived from its name.
struct FontFace<'a> {
    font: Font<'a>,
    mono: bool,
    bold: bool,
}

#[derive(Clone)]
struct PdfTextState<'a> {
    page: Matrix,
    face: Option<Rc<FontFace<'a>>>,
    size: f64,
    letter_space: f64,
    word_space: f64,
    scale: f64,
    leading: f64,
    rise: f64,
}

/// Reads pages one after the other. Fonts are shared by all of them.
pub(super) struct Typist<'a> {
    cache: FontCache<'a>,
    faces: HashMap<(usize, usize), Option<Rc<FontFace<'a>>>>,
    fonts: FontResolverFn,
    cmaps: CMapResolverFn,
    unpacked: u64,
}

impl<'a> Typist<'a> {
    pub(super) fn new() -> Self {
        let fonts: FontResolverFn = Arc::new(|query| match query {
            FontQuery::Standard(font) => Some(font.get_font_data()),
            FontQuery::Fallback(font) => Some(font.pick_standard_font().get_font_data()),
        });
        let cmaps: CMapResolverFn = Arc::new(|_| None);
        Self { cache: FontCache::new(), faces: HashMap::new(), fonts, cmaps, unpacked: 0 }
    }

    /// The letters of a page, in the order in which they are drawn.
    pub(super) fn letters(&mut self, page: &Page<'a>) -> Result<PdfPageText, Unreadable> {
        let mut content = Vec::new();
        let raw = page.raw();
        if let Some(stream) = raw.get::<Stream<'_>>(b"Contents") {
            self.unpack(&stream, &mut content)?;
        } else if let Some(streams) = raw.get::<Array<'_>>(b"Contents") {
            for stream in streams.iter::<Stream<'_>>() {
                self.unpack(&stream, &mut content)?;
                content.push(b' ');
            }
        }
        let state = PdfTextState {
            page: Matrix::from_rotation(page.rotation()),
            face: None,
            size: 1.0,
            letter_space: 0.0,
            word_space: 0.0,
            scale: 1.0,
            leading: 0.0,
            rise: 0.0,
        };
        let mut reading = PdfContentReader {
            typist: self,
            state,
            saved: Vec::new(),
            text: Matrix::SAME,
            line: Matrix::SAME,
            operators: 0,
            marks: Vec::new(),
            letters: PdfPageText::default(),
        };
        reading.run(&content, page.resources(), None, 0)?;
        Ok(reading.letters)
    }

    /// Adds what a stream holds. Damaged ones give what comes before the damage.
    fn unpack(&mut self, stream: &Stream<'_>, to: &mut Vec<u8>) -> Result<(), Unreadable> {
        let too_large = Unreadable::TooLarge { limit: MAX_TOTAL_UNPACKED_BYTES };
        let before = to.len();
        let plain = stream.dict().get::<Object<'_>>(b"DecodeParms").is_none();
        if plain && stream.filters().as_slice() == [Filter::FlateDecode] {
            let raw = stream.raw_data();
            let mut data = ZlibDecoder::new(&*raw).take(MAX_STREAM_BYTES + 1);
            // A damaged stream ends with an error, after what could be read of it.
            data.read_to_end(to).ok();
        } else if let Ok(data) = stream.decoded_data() {
            to.extend_from_slice(&data);
        }
        let added = (to.len() - before) as u64;
        self.unpacked += added;
        if added > MAX_STREAM_BYTES || self.unpacked > MAX_TOTAL_UNPACKED_BYTES {
            return Err(too_large);
        }
        Ok(())
    }

    fn face(&mut self, dict: &Dict<'a>) -> Option<Rc<FontFace<'a>>> {
        let key = (dict.data().as_ptr() as usize, dict.data().len());
        if let Some(face) = self.faces.get(&key) {
            return face.clone();
        }
        let face = self.cache.font(dict, &self.fonts, &self.cmaps).map(|font| {
            let name = dict.get::<Name<'_>>(b"BaseFont");
            let name = name.map(|name| name.as_str().to_lowercase()).unwrap_or_default();
            let (mono, bold) = (is_mono(&name, dict), is_bold(&name, dict));
            Rc::new(FontFace { font, mono, bold })
        });
        self.faces.insert(key, face.clone());
        face
    }
}

/// What the descriptor of a font says about it, as a set of bits.
fn flags(dict: &Dict<'_>) -> i32 {
    let inner = || dict.get::<Array<'_>>(b"DescendantFonts")?.iter::<Dict<'_>>().next();
    let own = dict.get::<Dict<'_>>(b"FontDescriptor");
    let descriptor = own.or_else(|| inner()?.get::<Dict<'_>>(b"FontDescriptor"));
    descriptor.and_then(|descriptor| descriptor.get::<i32>(b"Flags")).unwrap_or_default()
}

fn is_mono(name: &str, dict: &Dict<'_>) -> bool {
    const NAMES: [&str; 12] = [
        "mono",
        "courier",
        "typewriter",
        "cmtt",
        "consol",
        "menlo",
        "fixed",
        "nimbusmon",
        "lmtt",
        "ectt",
        "sftt",
        "sourcecode",
    ];
    NAMES.iter().any(|known| name.contains(known)) || flags(dict) & 1 != 0
}

fn is_bold(name: &str, dict: &Dict<'_>) -> bool {
    const NAMES: [&str; 7] = ["bold", "black", "heavy", "cmbx", "sfbx", "-medi", "demi"];
    NAMES.iter().any(|known| name.contains(known)) || flags(dict) & (1 << 18) != 0
}

/// The state while reading one page.
struct PdfContentReader<'t, 'a> {
    typist: &'t mut Typist<'a>,
    state: PdfTextState<'a>,
    saved: Vec<PdfTextState<'a>>,
    text: Matrix,
    line: Matrix,
    operators: usize,
    /// Open marked content, and whether it is a page artifact.
    marks: Vec<bool>,
    letters: PdfPageText,
}

impl<'a> PdfContentReader<'_, 'a> {
    /// Follows the operators of a content. What a form lacks, its page has.
    fn run(
        &mut self,
        content: &[u8],
        own: &Resources<'a>,
        outer: Option<&Resources<'a>>,
        depth: usize,
    ) -> Result<(), Unreadable> {
        let mut operators = TypedIter::new(content);
        while let Some(operator) = operators.next() {
            self.operators += 1;
            if self.operators > MAX_PAGE_OPERATORS || self.letters.glyphs.len() > MAX_PAGE_GLYPHS {
                self.letters.cut = true;
                return Ok(());
            }
            match operator {
                TypedInstruction::XObject(name) => {
                    let inherited = || outer?.get_x_object(name.0);
                    let form = own.get_x_object(name.0).or_else(inherited);
                    if let Some(form) = form.filter(|_| depth < MAX_FORM_DEPTH) {
                        self.form(&form, own, depth)?;
                    }
                }
                TypedInstruction::TextFont(font) => {
                    let inherited = || outer?.get_font(font.0);
                    let dict = own.get_font(font.0).or_else(inherited);
                    self.state.face = dict.and_then(|dict| self.typist.face(&dict));
                    self.state.size = font.1.as_f64();
                }
                other => self.operator(&other),
            }
        }
        Ok(())
    }

    fn form(
        &mut self,
        form: &Stream<'a>,
        outer: &Resources<'a>,
        depth: usize,
    ) -> Result<(), Unreadable> {
        let dict = form.dict();
        if dict.get::<Name<'_>>(b"Subtype").is_none_or(|kind| kind.as_str() != "Form") {
            self.letters.pictures = true;
            return Ok(());
        }
        let mut content = Vec::new();
        self.typist.unpack(form, &mut content)?;
        let before = (self.state.clone(), self.text, self.line, self.saved.len(), self.marks.len());
        if let Some(matrix) = dict.get::<Array<'_>>(b"Matrix") {
            let mut numbers = matrix.iter::<Number>().map(|number| number.as_f64());
            let matrix = std::array::from_fn(|_| numbers.next().unwrap_or_default());
            self.state.page = Matrix(matrix).then(self.state.page);
        }
        let resources = dict.get::<Dict<'a>>(b"Resources").map(Resources::new);
        let read = match resources {
            Some(own) => self.run(&content, &own, Some(outer), depth + 1),
            None => self.run(&content, outer, None, depth + 1),
        };
        let (saved, marks);
        (self.state, self.text, self.line, saved, marks) = before;
        self.saved.truncate(saved);
        self.marks.truncate(marks);
        read
    }

    fn operator(&mut self, operator: &TypedInstruction<'_, '_>) {
        use TypedInstruction as Op;
        let state = &mut self.state;
        match operator {
            Op::SaveState(_) if self.saved.len() < MAX_SAVED_STATES => {
                self.saved.push(self.state.clone());
            }
            Op::RestoreState(_) => {
                if let Some(saved) = self.saved.pop() {
                    self.state = saved;
                }
            }
            Op::Transform(m) => {
                let own = [&m.0, &m.1, &m.2, &m.3, &m.4, &m.5].map(Number::as_f64);
                state.page = Matrix(own).then(state.page);
            }
            Op::CharacterSpacing(space) => state.letter_space = space.0.as_f64(),
            Op::WordSpacing(space) => state.word_space = space.0.as_f64(),
            Op::HorizontalScaling(scale) => state.scale = scale.0.as_f64() / 100.0,
            Op::TextLeading(leading) => state.leading = leading.0.as_f64(),
            Op::TextRise(rise) => state.rise = rise.0.as_f64(),
            Op::BeginText(_) => (self.text, self.line) = (Matrix::SAME, Matrix::SAME),
            Op::SetTextMatrix(m) => {
                let own = [&m.0, &m.1, &m.2, &m.3, &m.4, &m.5].map(Number::as_f64);
                (self.text, self.line) = (Matrix(own), Matrix(own));
            }
            Op::NextLine(by) => self.next_line(by.0.as_f64(), by.1.as_f64()),
            Op::NextLineAndSetLeading(by) => {
                state.leading = -by.1.as_f64();
                self.next_line(by.0.as_f64(), by.1.as_f64());
            }
            Op::NextLineUsingLeading(_) => self.next_line(0.0, -self.state.leading),
            Op::InlineImage(_) => self.letters.pictures = true,
            Op::ShowText(text) => self.show(text.0),
            Op::NextLineAndShowText(text) => {
                self.next_line(0.0, -self.state.leading);
                self.show(text.0);
            }
            Op::ShowTextWithParameters(text) => {
                (state.word_space, state.letter_space) = (text.0.as_f64(), text.1.as_f64());
                self.next_line(0.0, -self.state.leading);
                self.show(text.2);
            }
            Op::ShowTexts(texts) => self.show_all(texts.0),
            Op::BeginMarkedContent(mark) => self.mark(mark.0),
            Op::BeginMarkedContentWithProperties(mark) => self.mark(mark.0),
            Op::EndMarkedContent(_) => {
                self.marks.pop();
            }
            _ => {}
        }
    }

    fn mark(&mut self, name: &Name<'_>) {
        if self.marks.len() < MAX_SAVED_STATES {
            self.marks.push(name.as_str() == "Artifact");
        }
    }

    fn next_line(&mut self, x: f64, y: f64) {
        self.line = Matrix::shift(x, y).then(self.line);
        self.text = self.line;
    }

    fn show_all(&mut self, texts: &Array<'_>) {
        for part in texts.iter::<Object<'_>>() {
            match part {
                Object::String(text) => self.show(&text),
                Object::Number(by) => {
                    let by = -by.as_f64() / 1000.0 * self.state.size;
                    let upright =
                        self.state.face.as_ref().is_some_and(|face| !face.font.is_horizontal());
                    let shift = if upright {
                        Matrix::shift(0.0, by)
                    } else {
                        Matrix::shift(by * self.state.scale, 0.0)
                    };
                    self.text = shift.then(self.text);
                }
                _ => {}
            }
        }
    }

    fn show(&mut self, text: &Bytes<'_>) {
        let Some(face) = self.state.face.clone() else { return };
        let bytes = text.as_bytes();
        let mut at = 0;
        while at < bytes.len() && self.letters.glyphs.len() <= MAX_PAGE_GLYPHS {
            let (code, length) = face.font.read_code(bytes, at);
            at += length.max(1);
            let advance = face.font.code_advance(code);
            let space = if code == 32 && length == 1 { self.state.word_space } else { 0.0 };
            let space = space + self.state.letter_space;
            let PdfTextState { size, scale, .. } = self.state;
            let wide = advance.x / 1000.0 * size * scale;
            let by = if face.font.is_horizontal() {
                (wide + space * scale, 0.0)
            } else {
                (0.0, advance.y / 1000.0 * size + space)
            };
            if !self.marks.contains(&true) {
                self.letter(&face, code, wide);
            }
            self.text = Matrix::shift(by.0, by.1).then(self.text);
        }
    }

    fn letter(&mut self, face: &FontFace<'a>, code: u32, wide: f64) {
        let text = match face.font.glyph(face.font.map_code(code), code) {
            FontGlyph::Outline(glyph) => glyph.as_unicode(),
            FontGlyph::Type3(glyph) => glyph.as_unicode(),
        };
        let Some(text) = text else {
            self.letters.unknown += 1;
            return;
        };
        let place = self.text.then(self.state.page);
        let (x, y) = place.apply(0.0, self.state.rise);
        let (end_x, end_y) = place.apply(wide, self.state.rise);
        let (up_x, up_y) = place.apply(0.0, self.state.rise + self.state.size);
        let size = (up_x - x).hypot(up_y - y);
        let (along, aside) = (end_x - x, end_y - y);
        // Whatever runs askew is put to the nearest quarter.
        let (turn, start, end, height) = match () {
            () if along.abs() >= aside.abs() && along >= 0.0 => (0, x, end_x, y),
            () if along.abs() >= aside.abs() => (2, -x, -end_x, -y),
            () if aside > 0.0 => (1, y, end_y, -x),
            () => (3, -y, -end_y, x),
        };
        if [start, end, height, size].iter().all(|number| number.is_finite()) && size > 0.0 {
            let FontFace { mono, bold, .. } = *face;
            self.letters.glyphs.push(Glyph { text, start, end, height, size, mono, bold, turn });
        }
    }
}
