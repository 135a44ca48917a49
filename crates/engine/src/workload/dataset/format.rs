//! Detects the format of a dataset's file from the file's name, or else from its first bytes.

use std::{
    io::{self, BufRead},
    path::Path,
};

use super::{
    error::RecordError,
    json_lines::JsonRecords,
    portion::{FieldBuffer, Portion},
    reading::Input,
    separated::Separated,
    vectors::{NPY, VectorFormat, Vectors},
    xml::Xml,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DatasetFormat {
    Csv,
    Tsv,
    Json,
    Xml,
    Vectors(VectorFormat),
}

impl DatasetFormat {
    fn of(path: &Path, input: &mut Input) -> io::Result<Self> {
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        let name = name.strip_suffix(".gz").unwrap_or(&name);
        Ok(match name.rsplit_once('.').map_or("", |(_, ending)| ending) {
            "csv" => Self::Csv,
            "tsv" => Self::Tsv,
            "json" | "jsonl" | "ndjson" => Self::Json,
            "xml" => Self::Xml,
            "fvecs" => Self::Vectors(VectorFormat::Fvecs),
            "bvecs" => Self::Vectors(VectorFormat::Bvecs),
            "npy" => Self::Vectors(VectorFormat::Npy),
            _ => Self::of_text(input.fill_buf()?),
        })
    }

    fn of_text(text: &[u8]) -> Self {
        if text.starts_with(NPY) {
            return Self::Vectors(VectorFormat::Npy);
        }
        let text = text.strip_prefix(BOM).unwrap_or(text);
        let first_line = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
        match text.iter().find(|byte| !byte.is_ascii_whitespace()) {
            Some(b'{') => Self::Json,
            Some(b'<') => Self::Xml,
            _ if first_line.contains(&b'\t') => Self::Tsv,
            _ => Self::Csv,
        }
    }
}

/// The byte order mark with which a text in UTF-8 may begin.
pub(super) const BOM: &[u8] = b"\xef\xbb\xbf";

/// Reads the records of a file in any format.
pub(super) enum RecordReader {
    Separated(Separated),
    Json(JsonRecords),
    Xml(Xml),
    Vectors(Vectors),
}

impl RecordReader {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let mut input = Input::open(path)?;
        Ok(match DatasetFormat::of(path, &mut input)? {
            DatasetFormat::Csv => Self::Separated(Separated::new(input, b',')),
            DatasetFormat::Tsv => Self::Separated(Separated::new(input, b'\t')),
            DatasetFormat::Json => Self::Json(JsonRecords::new(input)),
            DatasetFormat::Xml => Self::Xml(Xml::new(input)),
            DatasetFormat::Vectors(layout) => Self::Vectors(Vectors::new(input, layout)),
        })
    }

    /// Returns the names of the fields from the heading or from the first record. This record is then consumed. The
    /// result is empty if there are no fields.
    pub(super) fn names(&mut self) -> Result<Vec<String>, RecordError> {
        match self {
            Self::Separated(rows) => rows.names(),
            Self::Json(rows) => rows.names(),
            Self::Xml(rows) => rows.names(),
            Self::Vectors(rows) => rows.names(),
        }
    }

    /// Appends the `wanted` parts of the next record to `to`. Returns false if there is no further record.
    pub(super) fn next(&mut self, wanted: &[Portion], to: &mut FieldBuffer) -> Result<bool, RecordError> {
        let first = to.count();
        let line = match self {
            Self::Separated(rows) => rows.next(wanted, to)?,
            Self::Json(rows) => rows.next(wanted, to)?,
            Self::Xml(rows) => rows.next(wanted, to)?,
            Self::Vectors(rows) => rows.next(wanted, to)?,
        };
        let Some(line) = line else { return Ok(false) };
        let invalid = |name: &str| RecordError::at(line, format!("the field '{name}' is not base64"));
        to.decode(first, wanted).map_err(invalid)?;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;
    use crate::workload::dataset::reading::LARGEST_RECORD;

    /// Reads a file with this name and text. Returns the names of its fields and then its records, or the error.
    fn read(name: &str, text: &[u8], wanted: &[&str]) -> Result<Vec<Vec<String>>, String> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(name);
        std::fs::write(&path, text).unwrap();
        let described = |fault: RecordError| format!("{}: {}", fault.line, fault.what);
        let mut all = vec![RecordReader::open(&path).unwrap().names().map_err(described)?];
        let wanted: Vec<_> = wanted.iter().map(|name| portion(name)).collect();
        let mut rows = RecordReader::open(&path).unwrap();
        let mut fields = FieldBuffer::default();
        while rows.next(&wanted, &mut fields).map_err(described)? {
            let text = |place| String::from_utf8_lossy(fields.get(place)).into_owned();
            all.push((0..wanted.len()).map(text).collect());
            fields = FieldBuffer::default();
        }
        Ok(all)
    }

    fn portion(name: &str) -> Portion {
        Portion::of(name).unwrap_or_else(|| Portion::Field(name.to_owned()))
    }

    fn packed(text: &[u8]) -> Vec<u8> {
        let mut packed = Vec::new();
        // Two gzip streams, one after the other, as in concatenated files.
        for half in [&text[..text.len() / 2], &text[text.len() / 2..]] {
            let mut packing = flate2::write::GzEncoder::new(&mut packed, flate2::Compression::fast());
            packing.write_all(half).unwrap();
            packing.finish().unwrap();
        }
        packed
    }

    const CSV: &str = "\u{feff}id,title,n\n1,\"a \"\"b\"\", c\",7\n\n2,\"two\nlines\",\u{e4}\n";
    const TSV: &str = "id\ttitle\tn\n1\ta \"b\", c\t7\n2\t\t\u{e4}\n";
    const JSON: &str = "{\"id\":1,\"title\":\"a \\\"b\\\", c\",\"n\":{\"x\": [1.0]}}\n\n{\"title\":\"\\u00e4\\n\",\"id\":12345678901234567890123,\"n\":null,\"more\":1}";
    const XML: &str =
        "<?xml version=\"1.0\"?>\n<feed>\n<doc>\n<title>a &amp; &#98;</title><url>u</url><abstract/>
<links><link type=\"nav\"><a>one</a><b>two</b></link></links></doc>\n<!-- -->
<doc><url>v</url><title><![CDATA[<x>]]></title><abstract> y </abstract></doc></feed>\n";

    #[test]
    fn every_format_is_read() {
        for (name, text, wanted, expected) in [
            ("f.csv", CSV, &["n", "title"][..], &[&["7", "a \"b\", c"][..], &["\u{e4}", "two\nlines"]][..]),
            ("f.tsv", TSV, &["n", "title"], &[&["7", "a \"b\", c"], &["\u{e4}", ""]]),
            (
                "f.jsonl",
                JSON,
                &["id", "title", "n"],
                &[&["1", "a \"b\", c", "{\"x\": [1.0]}"], &["12345678901234567890123", "\u{e4}\n", "null"]],
            ),
            ("f.xml", XML, &["title", "abstract", "url"], &[&["a & b", "", "u"], &["<x>", " y ", "v"]]),
        ] {
            for (name, text) in
                [(name, text.as_bytes().to_vec()), ("f", text.into()), ("f.gz", packed(text.as_bytes()))]
            {
                let read = read(name, &text, wanted).unwrap_or_else(|error| panic!("{name}: {error}"));
                assert!(wanted.iter().all(|field| read[0].iter().any(|name| name == field)), "{:?}", read[0]);
                assert_eq!(read[1..], *expected, "{name}");
            }
        }
        for (name, text, records) in [
            (
                "f.csv",
                CSV,
                [
                    r#"{"id":"1","title":"a \"b\", c","n":"7"}"#,
                    "{\"id\":\"2\",\"title\":\"two\\nlines\",\"n\":\"\u{e4}\"}",
                ],
            ),
            ("f.jsonl", JSON, [JSON.lines().next().unwrap(), JSON.lines().last().unwrap()]),
            (
                "f.xml",
                XML,
                [
                    r#"{"title":"a & b","url":"u","abstract":"","links":"onetwo"}"#,
                    r#"{"url":"v","title":"<x>","abstract":" y "}"#,
                ],
            ),
        ] {
            let read = read(name, text.as_bytes(), &["__record__", "title"]).unwrap();
            assert_eq!([&read[1][0], &read[2][0]], records);
            assert!(records.map(serde_json::from_str::<serde_json::Value>).iter().all(Result::is_ok));
        }
        let decoded = ["__field:title:base64__", "id", "__field:n:base64__"];
        for (name, text) in
            [("f.csv", "id,title,n\n1,YQ==,\n"), ("f.jsonl", r#"{"n":"","id":1,"title":"YQ=="}"#)]
        {
            assert_eq!(read(name, text.as_bytes(), &decoded).unwrap()[1..], [["a", "1", ""]], "{name}");
        }
        let odd = "id,title\r\n\r\n\"\",5\" of \"x\"\r\n\",\",\r\n1,\"\"\"\"";
        let expected = [["", "5\" of \"x\""], [",", ""], ["1", "\""]];
        assert_eq!(read("f.csv", odd.as_bytes(), &["id", "title"]).unwrap()[1..], expected);
        let links =
            read("f.xml", XML.replace("</url><title>", "</url><links/><title>").as_bytes(), &["links"]);
        assert_eq!(links.unwrap()[1..], [["onetwo"], [""]]);
    }

    #[test]
    fn an_invalid_record_is_reported_with_its_line() {
        for (name, text, error) in [
            ("f.csv", "id,title\n1,a\n2\n", "3: the row has 1 columns, but the heading has 2"),
            ("f.csv", "id,title\n1,\"a\nb\"\n2,x,y\n", "4: the row has 3 columns, but the heading has 2"),
            ("f.csv", "id,title\n1,\"a\n2,b\n3,c\n", "2: the quote that opens here is never closed"),
            ("f.csv", "id,title\n1,a\n\n\"2\n\",\"a", "5: the quote that opens here is never closed"),
            (
                "f.csv",
                "id,title\r\n1,\"a\r\n2,b\r\n3,\"c\"\r\n",
                "2: the quote that opens here is closed in line 4, where neither a comma nor the end of the row follows",
            ),
            ("f.tsv", "id\ttitle\n1\ta\n2\n", "3: the row has 1 columns, but the heading has 2"),
            ("f.jsonl", "{\"id\":1}\n\n{\"id\":2\n", "3: not a JSON object, at column 7: EOF while parsing"),
            ("f.jsonl", "[{\"id\":1}]", "1: not a JSON object, at column "),
            ("f.jsonl", "{\"id\":1}\n{\"a\":2}\n", "2: the record has no field 'id'"),
            ("f.jsonl", "{\"id\":\"\\ud800\"}", "1: not a JSON object, "),
            ("f.xml", "<feed>\n<doc><id>1</id>\n</feed>", "3: "),
            ("f.xml", "<feed>\n<doc><id>1</id></doc>\n", "3: the file ends within an element"),
            (
                "f.xml",
                "<feed>\n<doc><id>1</id></doc>\n<doc><a/></doc></feed>",
                "3: the record has no field 'id'",
            ),
            ("f.xml", "<feed>\n<doc>x<id>1</id></doc></feed>", "2: there is text outside of a field"),
            ("f.xml", "<feed><doc>\n<id>&x;</id></doc></feed>", "2: the entity &x; is not defined"),
            ("f.xml", "no XML", "1: there is text outside of a field"),
        ] {
            let read = read(name, text.as_bytes(), &["id"]).unwrap_err();
            assert!(read.starts_with(error), "{text:?}: {read}");
        }
        for (name, text, error) in [
            (
                "f.csv",
                &b"id,n,id\n1,2,3\n"[..],
                "2: the record has two fields 'id', but a JSON object can have only one",
            ),
            ("f.xml", b"<f>\n<d><id>1</id>\n<id>2</id></d></f>", "2: the record has two fields 'id'"),
            ("f.csv", b"id,n\n1,2\n2,\xff\n", "3: JSON is UTF-8, and the record is not"),
        ] {
            assert!(read(name, text, &["__record__"]).unwrap_err().starts_with(error));
        }
        let read_decoded = |text: &str| read("f.csv", text.as_bytes(), &["__field:n:base64__"]);
        assert_eq!(read_decoded("n\nYQ==\n\nYQ=\n").unwrap_err(), "4: the field 'n' is not base64");
        let cut = packed(CSV.as_bytes());
        assert!(read("f.gz", &cut[..cut.len() - 4], &["id"]).is_err());
    }

    #[test]
    fn a_record_without_an_end_does_not_fill_the_memory() {
        let endless = "x".repeat(LARGEST_RECORD as usize + 100_000);
        for (name, text) in [
            ("f.csv", format!("id\n\"{endless}\n\"\n")),
            ("f.jsonl", format!("{{\"id\":\"{endless}\n")),
            ("f.xml", format!("<feed><doc><id>{endless}</id></doc></feed>")),
        ] {
            let error = read(name, text.as_bytes(), &["id"]).unwrap_err();
            assert!(error.contains("a record has more than 16 MiB"), "{name}: {error}");
            let opens = error.ends_with("; the quote that opens here is not closed before that place");
            assert_eq!(opens, name == "f.csv", "{error}");
        }
    }
}
