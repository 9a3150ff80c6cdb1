//! Finders for each README item, strongest signal first.

use super::{
    super::{
        commands,
        outline::{OutlineContent, OutlineSection, count_words},
        wording,
    },
    ReadmeContext, ReadmeEvidence, is_for_developers,
    marks::{is_aside, is_badge, is_generic, is_shot, sentences, short},
};
use crate::repo::tree::name_of;

/// Finds the project name: the first heading, or a logo.
pub(super) fn title(reading: &ReadmeContext<'_>) -> Option<ReadmeEvidence> {
    let sections = &reading.outline.sections;
    let heading = || {
        let section = reading.title().and_then(|at| sections.get(at))?;
        Some(ReadmeEvidence::new(section.line, format!("heading `{}`", short(&section.heading))))
    };
    let top = || {
        let until = sections.iter().take_while(|section| !wording::names_any(&section.heading));
        until.flat_map(|section| section.parts.iter().map(move |part| (section, part)))
    };
    let names: Vec<String> = reading.names().collect();
    let is_named = |text: &str| names.iter().any(|name| text.to_ascii_lowercase().contains(name));
    let logo = |named: bool| {
        top().find_map(|(section, part)| match &part.matter {
            OutlineContent::Picture { text, target } if !text.is_empty() && !is_badge(target) => {
                let fits = if named { is_named(text) } else { !is_generic(&section.heading) };
                let evidence = || format!("picture `{}`", short(text));
                fits.then(|| ReadmeEvidence::new(part.line, evidence()))
            }
            _ => None,
        })
    };
    let outermost = reading.title().and_then(|at| sections.get(at)).is_some_and(|it| it.level == 1);
    if outermost { heading() } else { logo(true).or_else(|| logo(false)).or_else(heading) }
}

/// Finds the purpose: the first sentence below the title or in a section about it.
pub(super) fn purpose(reading: &ReadmeContext<'_>) -> Option<ReadmeEvidence> {
    let sections = &reading.outline.sections;
    let title = reading.title();
    let about = |section: &OutlineSection| wording::names(&section.heading, "purpose");
    let is_telling = |(at, section): &(usize, &OutlineSection)| {
        let before = section.level == 0 || title.is_some_and(|title| *at <= title);
        let below = title.is_some_and(|title| *at == title + 1);
        let near = before || (below && !wording::names_any(&section.heading));
        (near || about(section)) && !is_generic(&section.heading)
    };
    let telling = sections.iter().enumerate().filter(is_telling);
    let mut parts = telling.flat_map(|(_, section)| &section.parts);
    let prose = parts.find_map(|part| match &part.matter {
        OutlineContent::Prose { text, linked, .. } => {
            let running = count_words(text) >= 5 && linked * 2 <= text.len() && !is_aside(text);
            let first = || sentences(text).next().unwrap_or(text);
            running.then(|| ReadmeEvidence::new(part.line, format!("`{}`", short(first()))))
        }
        _ => None,
    });
    prose.or_else(|| {
        let title = sections.get(title?).filter(|title| count_words(&title.heading) >= 6)?;
        Some(ReadmeEvidence::new(title.line, format!("heading `{}`", short(&title.heading))))
    })
}

/// Finds maturity and maintenance status.
pub(super) fn status(reading: &ReadmeContext<'_>) -> Option<ReadmeEvidence> {
    const BADGES: &str = "build, /ci, workflows, /v/, /v., version, crates.io, badge.fury.io, \
        release, status, coverage, codecov, coveralls, travis, circleci, appveyor, maintenance, \
        maintained, maven, nuget, packagist, hex.pm, stability";
    const PHRASES: &str = "experimental, work in progress, wip, in alpha, alpha version, \
        alpha release, alpha software, alpha stage, in beta, beta version, beta release, \
        beta software, public beta, production ready, \
        ready for production, is stable, are stable, not stable, unstable, considered stable, \
        deprecated, unmaintained, no longer maintained, not maintained, actively maintained, \
        actively developed, active development, maintenance mode, early stage, proof of concept, \
        semantic versioning, semver, long term support, used in production";
    reading
        .badge_with(BADGES)
        .or_else(|| reading.section_on("status"))
        .or_else(|| reading.sentence_with(PHRASES))
}

/// Finds requirements: a section, a sentence with a tool and version, or a badge.
pub(super) fn requirements(reading: &ReadmeContext<'_>) -> Option<ReadmeEvidence> {
    const TOOLS: &str = "python, node, js, nodejs, rust, rustc, go, golang, java, jdk, jre, php, \
        ruby, elixir, erlang, otp, net, docker, gcc, clang, cmake, npm, swift, xcode, android, \
        ios, macos, windows, linux, kubernetes, kotlin, scala, postgresql, postgres, mysql, \
        redis, react, vue, angular, django, rails, laravel, typescript, ubuntu, debian, cuda, \
        haskell, ghc, perl, lua, neovim, vim, emacs, chrome, firefox, safari, flutter, dart, msrv";
    const NEEDS: &str = "requires, require, required, requirement, needs, need, supports, \
        supported, compatible, tested, minimum, at least, works with, works on, runs on, msrv, \
        or later, or newer, or higher, or greater, or above, and above, and later, and newer, \
        and up, and higher, only";
    const BADGES: &str = "pyversions, python-, node/v, node-v, msrv, rustc, rust-version, \
        minimum, php-v, platform, dotnet, java-";
    let is_number =
        |word: &str| word.trim_start_matches('v').starts_with(|c: char| c.is_ascii_digit());
    let states_requirement = |sentence: &&str| {
        let plain = wording::plain(sentence);
        let words: Vec<&str> = plain.split_whitespace().collect();
        let at_least =
            sentence.contains('+') || sentence.contains(['≥', '≤']) || sentence.contains(">=");
        let needed = at_least || wording::each(NEEDS).any(|need| wording::has(&plain, need));
        needed
            && words.iter().enumerate().any(|(at, word)| {
                // `Node.js 18`, `Node.js, and at least v18`; not `Windows terminals with 16 colours`.
                let rest = || words.iter().skip(at + 1);
                let next = rest().take(2).any(|next| is_number(next));
                let later = || rest().take(6).any(|next| next.starts_with('v') && is_number(next));
                wording::each(TOOLS).any(|tool| tool == *word) && (next || later())
            })
    };
    let sentence = || {
        reading.prose().find_map(|(line, text)| {
            let sentence = sentences(text).find(states_requirement)?;
            Some(ReadmeEvidence::new(line, format!("`{}`", short(sentence))))
        })
    };
    reading.section_on("requirements").or_else(sentence).or_else(|| reading.badge_with(BADGES))
}

/// Finds installation: a command, a section, a link, or a command for developers.
pub(super) fn installation(reading: &ReadmeContext<'_>) -> Option<ReadmeEvidence> {
    const WORDS: &str = "installation, install, installing, download, downloads, setup, 安装, \
        インストール, установка, instalación, instalação";
    const TARGETS: &str = "/install, installation, /download, releases/latest";
    let names: Vec<String> = reading.names().collect();
    let command = |inner: bool| {
        let code = reading.code().filter(|(_, _, is_inner)| *is_inner == inner);
        let found: Vec<_> = code
            .filter_map(|(line, code, _)| Some((line, code, commands::installing(code)?)))
            .collect();
        let own = |(_, _, command): &&(u64, &str, &str)| {
            let command = command.to_ascii_lowercase();
            names.iter().any(|name| command.contains(name))
        };
        let first = found.iter().find(own).or_else(|| found.first());
        first.map(|(line, code, command)| at_command(*line, code, command))
    };
    command(false)
        .or_else(|| reading.section_on("installation"))
        .or_else(|| reading.link_on(WORDS, TARGETS))
        .or_else(|| command(true))
}

/// Finds usage: a section, code, or a link.
pub(super) fn usage(reading: &ReadmeContext<'_>) -> Option<ReadmeEvidence> {
    const WORDS: &str = "usage, getting started, get started, quick start, quickstart, tutorial, \
        tutorials, examples, user guide, guide, 使用, 使い方";
    const TARGETS: &str = "getting-started, quickstart, quick-start, /tutorial, /usage";
    reading
        .section_on("usage")
        .or_else(|| shown_code(reading))
        .or_else(|| reading.link_on(WORDS, TARGETS))
}

/// Finds an example: code, a section, a link, or a screenshot.
pub(super) fn example(reading: &ReadmeContext<'_>) -> Option<ReadmeEvidence> {
    const WORDS: &str = "examples, example, demo, demos, playground, samples";
    const TARGETS: &str = "examples, /demo, codesandbox, stackblitz, /samples";
    let picture = || {
        reading.parts().find_map(|part| match &part.matter {
            OutlineContent::Picture { text, target }
                if !is_badge(target) && is_shot(text, target) =>
            {
                let shown = if text.is_empty() { target } else { text };
                Some(ReadmeEvidence::new(part.line, format!("picture `{}`", short(shown))))
            }
            _ => None,
        })
    };
    shown_code(reading)
        .or_else(|| reading.section_on("example"))
        .or_else(|| reading.link_on(WORDS, TARGETS))
        .or_else(picture)
}

/// Finds code that shows the project in use: not its installation or tests.
fn shown_code(reading: &ReadmeContext<'_>) -> Option<ReadmeEvidence> {
    const BUILDS: &str = "cargo build, make, cd , #, //, npm run build, go build";
    let is_idle = |line: &str| {
        commands::is_installing(line)
            || commands::is_testing(line)
            || wording::each(BUILDS).any(|start| line.starts_with(start))
    };
    let shows = |text: &str| {
        let working = commands::lines(text).filter(|line| !is_idle(line)).count();
        let declares =
            commands::installing(text).is_some_and(|line| !commands::is_installing(line));
        let only_installs = commands::installing(text).is_some() && working < 3;
        working > 0 && !declares && !only_installs
    };
    let sections = reading.outline.sections.iter().filter(|section| !is_for_developers(section));
    sections.flat_map(|section| &section.parts).find_map(|part| match &part.matter {
        OutlineContent::Code { language, text } if shows(text) => {
            let language = language.as_deref().map(|it| format!(" in `{}`", short(it)));
            let evidence = format!("code block{}", language.unwrap_or_default());
            Some(ReadmeEvidence::new(part.line, evidence))
        }
        _ => None,
    })
}

/// Finds configuration: a section, an environment variable name, or a link.
pub(super) fn configuration(reading: &ReadmeContext<'_>) -> Option<ReadmeEvidence> {
    const WORDS: &str = "configuration, config, settings, options, 配置, 設定";
    const TARGETS: &str = "configuration, /config, settings";
    let project = reading.report.project.as_ref();
    let variables = project.map_or(&[][..], |project| project.environment.as_slice());
    let named = || {
        reading.parts().find_map(|part| match &part.matter {
            OutlineContent::Prose { text, .. } | OutlineContent::Code { text, .. } => {
                let name = variables.iter().find(|name| text.contains(name.as_str()))?;
                Some(ReadmeEvidence::new(part.line, format!("names `{name}`")))
            }
            _ => None,
        })
    };
    reading.section_on("configuration").or_else(named).or_else(|| reading.link_on(WORDS, TARGETS))
}

/// Finds tests: a command, a section, or a link to a contributing guide with a command.
pub(super) fn tests(reading: &ReadmeContext<'_>) -> Option<ReadmeEvidence> {
    let command = || {
        let mut code = reading.code();
        code.find_map(|(line, code, _)| Some(at_command(line, code, commands::testing(code)?)))
    };
    let guide = || {
        let guide = reading.contributing?;
        let mut mentions = guide.mentions.iter();
        let mention = mentions.find(|mention| commands::is_testing(&mention.text))?;
        let name = name_of(&guide.path);
        let (line, ..) = reading.links().find(|(_, _, target)| target.contains(name))?;
        let (path, at) = (&guide.path, mention.line);
        Some(ReadmeEvidence::new(line, format!("`{}` in {path}:{at}", short(&mention.text))))
    };
    command().or_else(|| reading.section_on("tests")).or_else(guide).or_else(|| {
        reading.link_on("unit tests, test suite, running tests", "unit-tests, running-tests")
    })
}

/// Finds further documentation: a link or a section.
pub(super) fn documentation(reading: &ReadmeContext<'_>) -> Option<ReadmeEvidence> {
    const WORDS: &str = "documentation, docs, guide, manual, wiki, reference, handbook, website, \
        homepage, book, 文档, ドキュメント, 문서, documentación, dokumentation, документация";
    const TARGETS: &str = "^docs/, ^doc/, docs.rs/, readthedocs, /docs, //docs., /wiki, \
        pkg.go.dev, godoc.org, hexdocs.pm, javadoc, .github.io, rubydoc, gitbook, \
        /documentation, /guide";
    reading.link_on(WORDS, TARGETS).or_else(|| reading.section_on("documentation"))
}

/// Finds help: a section, a link, or a sentence.
pub(super) fn help(reading: &ReadmeContext<'_>) -> Option<ReadmeEvidence> {
    const WORDS: &str = "chat, community, forum, faq, issue tracker, discord, get help";
    const TARGETS: &str = "discord, slack, gitter, stackoverflow, /discussions, mailto:, \
        groups.google, matrix.to, matrix.org, t.me/, zulip, reddit.com/r/, forum, /support";
    const PHRASES: &str = "open an issue, file an issue, create an issue, submit an issue, \
        raise an issue, report bugs, report issues, bug tracker, issue tracker, mailing list, \
        ask questions, get in touch, contact us";
    let tracker = || {
        // The issue tracker, not a single issue.
        let is_tracker = |target: &str| target.trim_end_matches('/').ends_with("/issues");
        let (line, _, target) = reading.links().find(|(_, _, target)| is_tracker(target))?;
        Some(ReadmeEvidence::new(line, format!("link to {}", short(target))))
    };
    reading
        .section_on("help")
        .or_else(|| reading.link_on(WORDS, TARGETS))
        .or_else(tracker)
        .or_else(|| reading.sentence_with(PHRASES))
}

/// Finds contributing: a link, a section, a sentence, or a badge.
pub(super) fn contributing(reading: &ReadmeContext<'_>) -> Option<ReadmeEvidence> {
    const PHRASES: &str = "pull requests are welcome, prs welcome, prs are welcome, \
        pull requests welcome, contributions are welcome, contributions welcome, \
        feel free to contribute, want to contribute, contributions of any kind";
    reading
        .link_on(
            "contributing, contribute, contributor guide, contribution guidelines",
            "contributing",
        )
        .or_else(|| reading.section_on("contributing"))
        .or_else(|| reading.sentence_with(PHRASES))
        .or_else(|| reading.badge_with("prs welcome, prs-welcome"))
}

/// Finds the license: a section, a link, a sentence, or a badge.
pub(super) fn licence(reading: &ReadmeContext<'_>) -> Option<ReadmeEvidence> {
    const WORDS: &str = "license, licence, mit, apache 2 0, gpl";
    const TARGETS: &str = "license, licence, copying, opensource.org/licenses";
    const PHRASES: &str = "licensed under, licenced under, released under, distributed under the, \
        available under the, mit license, mit licensed, apache license, bsd license, \
        public domain, under the terms of, license mit";
    reading
        .section_on("licence")
        .or_else(|| reading.link_on(WORDS, TARGETS))
        .or_else(|| reading.sentence_with(PHRASES))
        .or_else(|| reading.badge_with("licen"))
        .or_else(|| bare_licence(reading))
}

/// Finds a paragraph that is only a license: `MIT OR Apache-2.0.`
fn bare_licence(reading: &ReadmeContext<'_>) -> Option<ReadmeEvidence> {
    reading.prose().find_map(|(line, text)| {
        let text = text.trim().trim_end_matches('.');
        let is_licence = text.len() < 80 && spdx::Expression::parse(text).is_ok();
        is_licence.then(|| ReadmeEvidence::new(line, format!("`{text}`")))
    })
}

/// Locates a command: its line is the block's line plus its position in the block.
fn at_command(line: u64, code: &str, command: &str) -> ReadmeEvidence {
    let before = code.lines().take_while(|it| !it.contains(command)).count() as u64;
    ReadmeEvidence::new(line + before, format!("`{}`", short(command)))
}
