use super::*;

/// The parts on one line each: `params: a = text`, and so on.
fn read(tags: Tags, whole: &str) -> Vec<String> {
    let doc = parts(tags, tags == Tags::At, whole, whole);
    let mut lines = vec![doc.summary];
    lines.extend(doc.params.iter().map(|one| format!("param {} = {}", one.name, one.text)));
    lines.extend(doc.returns.iter().map(|text| format!("returns {text}")));
    lines.extend(doc.raises.iter().map(|one| format!("raises {} = {}", one.name, one.text)));
    lines.extend(doc.deprecated.iter().map(|text| format!("deprecated {text}")));
    lines
}

fn check(tags: Tags, cases: &[(&str, &[&str])]) {
    for (whole, want) in cases {
        // The summary of tagged text is what stands before the tags.
        let found = read(tags, whole);
        assert_eq!(found.get(1..).unwrap(), want.get(1..).unwrap(), "{whole}");
        if !want[0].is_empty() {
            assert_eq!(found[0], want[0], "{whole}");
        }
    }
}

#[test]
fn tags_with_an_at() {
    check(
        Tags::At,
        &[
            // Javadoc.
            (
                "Finds.\n\n@param <K> of the keys\n@param key the {@code key},\n    on two lines\n@return the row, or null\n@throws GoneException if it is gone\n@exception java.io.IOException when reading\n@deprecated since 2, use {@link Other}\n@since 1",
                &[
                    "Finds.",
                    "param <K> = of the keys",
                    "param key = the key, on two lines",
                    "returns the row, or null",
                    "raises GoneException = if it is gone",
                    "raises java.io.IOException = when reading",
                    "deprecated since 2, use Other",
                ],
            ),
            // JSDoc.
            (
                "Adds.\n\n@param {string} name - who\n@param {Object<string, {a: number}>} [options={}] How.\n@param {number} [options.times=1] - how often\n@param {...*} rest\n@returns {Promise<void>} when done\n@throws {TypeError} for a wrong one\n@throws If there is none\n@example\n```ts\n@Injectable()\n@param no\n```",
                &[
                    "Adds.",
                    "param name = who",
                    "param options = How.",
                    "param options.times = how often",
                    "param rest = ",
                    "returns when done",
                    "raises TypeError = for a wrong one",
                    "raises  = If there is none",
                ],
            ),
            ("@param [times] how often", &["", "param times = how often"]),
            ("@param x: who", &["", "param x = who"]),
            ("@returns the sum of `a` and b", &["", "returns the sum of `a` and b"]),
            ("@returns {@link Row} or null", &["", "returns Row or null"]),
            // PHPDoc.
            (
                "Saves.\n\n@param string|null $name Who.\n@param array<int, string> $rows\n@param int ...$more More.\n@param $bare Untyped.\n@return ?string The name.\n@throws \\App\\Gone When gone.",
                &[
                    "Saves.",
                    "param $name = Who.",
                    "param $rows = ",
                    "param $more = More.",
                    "param $bare = Untyped.",
                    "returns The name.",
                    "raises \\App\\Gone = When gone.",
                ],
            ),
            ("@param cost in $ per day", &["", "param cost = in $ per day"]),
            // YARD.
            (
                "Opens.\n@param path [String] where\n@param [Integer, nil] mode how\n@return [Boolean] whether it is open\n@raise [IOError] if closed",
                &[
                    "",
                    "param path = where",
                    "param mode = how",
                    "returns whether it is open",
                    "raises IOError = if closed",
                ],
            ),
            // Doxygen.
            (
                "@brief Copies bytes.\n\nAll of them.\n@param[in] from where from\n@param[in,out] to where to\n\\return how many\n\\throws std::bad_alloc without memory\n\\deprecated",
                &[
                    "Copies bytes.",
                    "param from = where from",
                    "param to = where to",
                    "returns how many",
                    "raises std::bad_alloc = without memory",
                    "deprecated ",
                ],
            ),
            ("A path.\n\\server\\share", &["A path. \\server\\share"]),
        ],
    );
}

#[test]
fn elements_of_xml() {
    check(
        Tags::Xml,
        &[
            (
                "<summary>\nFinds a <see cref=\"T:Shop.Row\"/> by <paramref name=\"key\"/>.\n</summary>\n<typeparam name=\"T\">Of rows.</typeparam>\n<param name=\"key\">Not <see langword=\"null\"/>,\n  and &lt; 5.</param>\n<returns>The <c>row</c>.</returns>\n<exception cref=\"System.ArgumentException\">If <a href=\"x\">empty</a>.</exception>",
                &[
                    "Finds a Shop.Row by key.",
                    "param T = Of rows.",
                    "param key = Not null, and < 5.",
                    "returns The row.",
                    "raises System.ArgumentException = If empty.",
                ],
            ),
            ("<summary>Open", &["Open"]),
            ("No elements, a < b.", &["No elements, a < b."]),
            ("<param name='x'/>", &["", "param x = "]),
        ],
    );
    let whole = "<summary>Says &amp; does.</summary>\n<param name=\"a\">it</param>\n<remarks><para>More: &#65;&#x42;.</para></remarks>\n<returns>x</returns>";
    assert_eq!(xml_text(whole), "Says & does.\n\nMore: AB.");
    assert_eq!(xml_text("A List<int> of <b>all</b>"), "A List<int> of all");
}

#[test]
fn headings_of_docstrings() {
    check(
        Tags::Headings,
        &[
            ("Only this.", &["Only this."]),
            // Google.
            (
                "Fetches rows.\n\nMore: of it.\n\nArgs:\n    table (str): The table.\n    keys (list[str], optional): Which,\n        on two lines.\n    *rest: Others.\n\nReturns:\n    dict[str, int]: Rows by key.\n\n    Second paragraph.\n\nRaises:\n    IOError: If it fails.\n    ValueError\n\nExample:\n    Args: none",
                &[
                    "Fetches rows.",
                    "param table = The table.",
                    "param keys = Which, on two lines.",
                    "param *rest = Others.",
                    "returns Rows by key. Second paragraph.",
                    "raises IOError = If it fails.",
                    "raises ValueError = ",
                ],
            ),
            (
                "Says.\nReturns: the text: all of it\nRaises: Gone",
                &["Says.", "returns the text: all of it", "raises Gone = "],
            ),
            ("Takes arguments:\n    none", &["Takes arguments: none"]),
            // NumPy.
            (
                "Adds.\n\nParameters\n----------\na : int\n    The first.\nb, c : {'x', 'y'}, optional\n    The others.\n\nReturns\n-------\nint\n    The sum.\n\nRaises\n------\nValueError\n    If negative.\n\nSee Also\n--------\nother : x",
                &[
                    "Adds.",
                    "param a = The first.",
                    "param b, c = The others.",
                    "returns The sum.",
                    "raises ValueError = If negative.",
                ],
            ),
            // Sphinx.
            (
                "Sends.\n\n:param str to: Whom,\n    or what.\n:param text: What.\n:type text: str\n:returns: Whether.\n:rtype: bool\n:raises OSError: On trouble.\n\n.. deprecated:: 2.1\n   Use :func:`post`.",
                &[
                    "Sends.",
                    "param to = Whom, or what.",
                    "param text = What.",
                    "returns Whether.",
                    "raises OSError = On trouble.",
                    "deprecated 2.1 Use :func:`post`.",
                ],
            ),
            (
                "Go says.\n\nDeprecated: use Other\ninstead.\n\nMore.",
                &["Go says.", "deprecated use Other instead."],
            ),
        ],
    );
}

#[test]
fn headings_of_markdown() {
    check(
        Tags::Headings,
        &[
            // Rust.
            (
                "Reads [`Row`]s from a [table](x).\n\n# Arguments\n\n* `at` - Where.\n* `times`: How often,\n  at most.\n\n# Returns\n\nThe rows.\n\n# Errors\n\nIf it is gone.\n\n# Panics\n\nOn zero.\n\n# Examples\n\n```\n# fn main() {}\n# Returns\n```",
                &[
                    "Reads Rows from a table.",
                    "param at = Where.",
                    "param times = How often, at most.",
                    "returns The rows.",
                    "raises Err = If it is gone.",
                    "raises panic = On zero.",
                ],
            ),
            (
                "Opens.\n\n# Errors\n\n- [`Error::Gone`](x): no such file\n- `Error::Shut` when shut",
                &["Opens.", "raises Error::Gone = no such file", "raises Error::Shut = when shut"],
            ),
            (
                "Blurs.\n\n# Arguments\n\n* `by` - How much.\n\n  In points.\n\nAll of it.\n\n# Panics\n\nOn zero.\n```\nblur(0);\n```",
                &["Blurs.", "param by = How much. In points.", "raises panic = On zero."],
            ),
            // Swift.
            (
                "Draws.\n\n- Parameter to: Where to,\n  in points.\n- Returns: Whether.\n- Throws: `Gone` if it is.\n- Note: none",
                &[
                    "Draws.",
                    "param to = Where to, in points.",
                    "returns Whether.",
                    "raises  = `Gone` if it is.",
                ],
            ),
            (
                "Draws.\n\n- Parameters:\n  - x: Across.\n  - y: Down.\n- Returns: It.",
                &["Draws.", "param x = Across.", "param y = Down.", "returns It."],
            ),
            ("- one: item\n- two: item", &["- one: item - two: item"]),
        ],
    );
}

#[test]
fn summaries_are_short_and_plain() {
    let long = "word ".repeat(50);
    let cases = [
        ("First\nline.\n\nSecond.", "First line."),
        ("See :class:`~a.B` and ``c``, `d`.", "See a.B and c, d."),
        (
            "**Strong** and *soft* but 2 * 3 * 4, __init__ and a_b_c",
            "Strong and soft but 2 * 3 * 4, __init__ and a_b_c",
        ),
        ("Uses [`Vec<T>`] and a[0], [x](y)", "Uses Vec<T> and a[0], x"),
        ("# Title", "Title"),
    ];
    for (text, want) in cases {
        assert_eq!(summary(text), want, "{text}");
    }
    assert_eq!(summary(&format!("Short, e.g. this. Then {long}")), "Short, e.g. this.");
    assert_eq!(summary(&long), long.trim());
}
