//! A small manual in the HTML of the database's own manual, with chapter pages that are mostly tables of contents,
//! and a collection about another system with a page of text, a book of several pages and one
//! that can't be read.

use crate::TestHome;
use std::{fs, path::Path};

/// Pages by file name, title and what is between their navigation.
const PAGES: [(&str, &str, &str); 8] = [
    (
        "index.html",
        "PostgreSQL 16 Documentation",
        r#"<div class="book" id="POSTGRES"><div class="titlepage"><div><div><h1 class="title">PostgreSQL 16 Documentation</h1></div>
<div><p class="copyright">Copyright © 1996–2024 The PostgreSQL Global Development Group</p></div></div></div>
<div class="toc"><p><strong>Table of Contents</strong></p><dl class="toc"><dt><span class="chapter"><a href="indexes.html">11. Indexes</a></span></dt>
<dd><dl><dt><span class="sect1"><a href="indexes-intro.html">11.1. Introduction</a></span></dt></dl></dd>
<dt><span class="sect1"><a href="runtime-config-connection.html">20.3. Connections and Authentication</a></span></dt>
<dt><span class="refentrytitle"><a href="sql-vacuum.html">VACUUM</a></span></dt></dl></div></div>"#,
    ),
    (
        "indexes.html",
        "Chapter 11. Indexes",
        r#"<div class="chapter" id="INDEXES"><div class="titlepage"><div><div><h2 class="title">Chapter 11. Indexes</h2></div></div></div>
<div class="toc"><p><strong>Table of Contents</strong></p><dl class="toc"><dt><span class="sect1"><a href="indexes-intro.html">11.1. Introduction</a></span></dt>
<dt><span class="sect1"><a href="indexes-types.html">11.2. Index Types</a></span></dt><dd><dl>
<dt><span class="sect2"><a href="indexes-types.html#INDEXES-TYPES-BTREE">11.2.1. B-Tree</a></span></dt>
<dt><span class="sect2"><a href="indexes-types.html#INDEXES-TYPES-HASH">11.2.2. Hash</a></span></dt></dl></dd></dl></div>
<a id="id-1.5.10.2" class="indexterm"></a><p>Indexes are a common way to enhance database performance.</p></div>"#,
    ),
    (
        "indexes-intro.html",
        "11.1. Introduction",
        r#"<div class="sect1" id="INDEXES-INTRO"><div class="titlepage"><div><div><h2 class="title" style="clear: both">11.1. Introduction</h2></div></div></div>
<p>To create an index on the column <code class="structfield">id</code> of a table, use the following command:</p>
<pre class="programlisting">CREATE INDEX test1_id_index ON test1 (id);</pre>
<p>To remove an index, use the <code class="command">DROP INDEX</code> command.</p></div>"#,
    ),
    (
        "indexes-types.html",
        "11.2. Index Types",
        r#"<div class="sect1" id="INDEXES-TYPES"><div class="titlepage"><div><div><h2 class="title" style="clear: both">11.2. Index Types</h2></div></div></div>
<p><code class="command">CREATE INDEX</code> creates an index on the specified column(s). By default it creates B-tree indexes, which fit the most common situations.</p>
<div class="sect2" id="INDEXES-TYPES-BTREE"><div class="titlepage"><div><div><h3 class="title">11.2.1. B-Tree</h3></div></div></div>
<p>B-trees can handle equality and range queries on data that can be sorted into some ordering.</p></div>
<div class="sect2" id="INDEXES-TYPES-HASH"><div class="titlepage"><div><div><h3 class="title">11.2.2. Hash</h3></div></div></div>
<p>Hash indexes store a 32-bit hash code derived from the value of the indexed column.</p></div></div>"#,
    ),
    (
        "runtime-config-connection.html",
        "20.3. Connections and Authentication",
        r#"<div class="sect1" id="RUNTIME-CONFIG-CONNECTION"><div class="titlepage"><div><div><h2 class="title" style="clear: both">20.3. Connections and Authentication</h2></div></div></div>
<div class="variablelist"><dl class="variablelist"><dt id="GUC-LISTEN-ADDRESSES"><span class="term"><code class="varname">listen_addresses</code> (<code class="type">string</code>)</span></dt>
<dd><p>Specifies the TCP/IP address(es) on which the server is to listen for connections from client applications.</p></dd>
<dt id="GUC-MAX-CONNECTIONS"><span class="term"><code class="varname">max_connections</code> (<code class="type">integer</code>)</span></dt>
<dd><p>Determines the maximum number of concurrent connections to the database server. The default is typically 100 connections. This parameter can only be set at server start.</p></dd></dl></div></div>"#,
    ),
    (
        "sql-vacuum.html",
        "VACUUM",
        r#"<div class="refentry" id="SQL-VACUUM"><div class="titlepage"></div><div class="refnamediv"><h2><span class="refentrytitle">VACUUM</span></h2>
<p>VACUUM — garbage-collect and optionally analyze a database</p></div>
<div class="refsect1" id="id-1.9.3.184.5"><h2>Description</h2><p><code class="command">VACUUM</code> reclaims storage occupied by dead tuples.</p>
<p><code class="command">VACUUM ANALYZE</code> performs a <code class="command">VACUUM</code> and then an <code class="command">ANALYZE</code> for each selected table. This is a handy combination form for routine maintenance scripts.</p></div></div>"#,
    ),
    (
        "using-explain.html",
        "14.1. Using EXPLAIN",
        r#"<div class="sect1" id="USING-EXPLAIN"><div class="titlepage"><div><div><h2 class="title" style="clear: both">14.1. Using EXPLAIN</h2></div></div></div>
<p>You can use the <code class="command">EXPLAIN</code> command to see what query plan the planner creates for any query.</p></div>"#,
    ),
    (
        "bookindex.html",
        "Index",
        r#"<div class="index" id="BOOKINDEX"><div class="titlepage"><div><div><h1 class="title">Index</h1></div></div></div>
<div class="index"><h3>V</h3><dl><dt>vacuum, <a class="indexterm" href="sql-vacuum.html">Description</a></dt></dl></div></div>"#,
    ),
];

/// How many of the pages are documents; the others only list words.
pub(super) const DOCUMENTS: usize = PAGES.len() - 1;

/// Writes the manual to `html` and the other collection to `ubuntu`, in the place's project.
pub(super) fn write(place: &TestHome) {
    for folder in ["html", "ubuntu"] {
        fs::create_dir(place.project().join(folder)).unwrap();
    }
    for (file, title, body) in PAGES {
        place.write(&format!("html/{file}"), &page(title, body));
    }
    place.write(
        "ubuntu/netplan.md",
        "# Netplan\n\nNetplan renders the network configuration of Ubuntu.\n",
    );
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../prose/fixtures/pdf");
    for (fixture, file) in [("bookmarks.pdf", "keeper.pdf"), ("locked.pdf", "locked.pdf")] {
        fs::copy(fixtures.join(fixture), place.project().join("ubuntu").join(file)).unwrap();
    }
}

/// A page with the navigation that the manual's generator puts around it.
fn page(title: &str, body: &str) -> String {
    format!(
        r#"<?xml version="1.0" encoding="UTF-8" standalone="no"?>
<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Transitional//EN" "http://www.w3.org/TR/xhtml1/DTD/xhtml1-transitional.dtd"><html xmlns="http://www.w3.org/1999/xhtml"><head><meta http-equiv="Content-Type" content="text/html; charset=UTF-8" /><title>{title}</title><meta name="generator" content="DocBook XSL Stylesheets Vsnapshot" /></head><body id="docContent" class="container-fluid col-10"><div class="navheader"><table width="100%" summary="Navigation header"><tr><th colspan="5" align="center">{title}</th></tr><tr><td width="10%" align="left"><a accesskey="u" href="index.html" title="PostgreSQL 16 Documentation">Up</a></td></tr></table><hr /></div>{body}<div class="navfooter"><hr /><table width="100%" summary="Navigation footer"><tr><td width="20%" align="center"><a accesskey="h" href="index.html" title="PostgreSQL 16 Documentation">Home</a></td></tr></table></div></body></html>
"#
    )
}
