//! Heading words by topic, in the languages of most READMEs. Data and lookup only; knows no documents.

/// Words in headings for one topic, separated by `, `.
struct HeadingTopic {
    name: &'static str,
    /// Matches anywhere in a heading.
    anywhere: &'static str,
    /// Matches at the start of a heading.
    first: &'static str,
    /// Matches the whole heading.
    whole: &'static str,
}

/// English, Spanish, Portuguese, French, German and Russian by whole words; Chinese, Japanese and Korean by letters.
const TOPICS: &[HeadingTopic] = &[
    HeadingTopic {
        name: "purpose",
        anywhere: "what is, what s, overview, introduction, features, highlights, motivation, key \
            features, descripción, introducción, características, descrição, introdução, \
            présentation, à propos, fonctionnalités, überblick, beschreibung, einführung, \
            funktionen, описание, введение, о проекте, возможности, 介绍, 简介, 概述, 特性, 特点, 功能, 介紹, \
            簡介, 概要, 特徴, はじめに, 소개, 개요, 기능, 특징",
        first: "about, why, description, goals, background, rationale, what it does, sobre, über, \
            intro",
        whole: "",
    },
    HeadingTopic {
        name: "status",
        anywhere: "status, stability, maturity, roadmap, maintenance, versioning, deprecated, backwards \
            compatibility, estado, statut, état, stand der, статус, 状态, 路线图, 狀態, ステータス, ロードマップ, \
            상태, 로드맵",
        first: "supported versions",
        whole: "release, releases, versions, changelog",
    },
    HeadingTopic {
        name: "requirements",
        anywhere: "requirements, requirement, prerequisites, prerequisite, pre requisites, \
            dependencies, compatibility, supported versions, supported platforms, minimum \
            supported, msrv, minimum rust version, rust version, browser support, supported \
            browsers, system requirements, platform support, supported python versions, \
            supported environments, requisitos, pré requisitos, prérequis, exigences, \
            voraussetzungen, anforderungen, systemanforderungen, требования, зависимости, 要求, \
            环境, 依赖, 前提, 環境, 必要条件, 要件, 요구, 필요 조건, 의존성, supported rust versions, supported node \
            versions, supported node js versions, supported operating systems",
        first: "requires, what you need, before you begin",
        whole: "",
    },
    HeadingTopic {
        name: "installation",
        anywhere: "installation, install, installing, set up, setup, getting it, how to build, building \
            from source, build from source, deployment, self hosting, instalación, instalar, \
            instalação, installer, installieren, einrichtung, установка, сборка, 安装, 安裝, 部署, 下载, \
            インストール, 導入, セットアップ, 설치, 설치하기",
        first: "downloads, downloading, building, compile, compiling, quick install, adding, \
            obtaining",
        whole: "build, deploy, download",
    },
    HeadingTopic {
        name: "usage",
        anywhere: "usage, how to use, quick start, quickstart, getting started, get started, quick \
            tour, basic use, first steps, walkthrough, tutorial, quick example, simple example, \
            hello world, synopsis, cheat sheet, uso, cómo usar, inicio rápido, empezar, \
            utilização, como usar, começando, início rápido, utilisation, démarrage, verwendung, \
            benutzung, nutzung, anwendung, schnellstart, erste schritte, использование, быстрый \
            старт, начало работы, как использовать, 使用, 用法, 快速开始, 快速入门, 快速上手, 快速開始, 开始使用, 入门, \
            使い方, 利用方法, クイックスタート, 始め方, 사용, 시작하기, 빠른 시작",
        first: "using, example, examples, running, how it works, ejemplo, ejemplos, exemplo, \
            exemplos, exemple, exemples, beispiel, beispiele, пример, примеры",
        whole: "use, run, api, cli, guide, basics, commands",
    },
    HeadingTopic {
        name: "example",
        anywhere: "example, examples, demo, demos, sample, samples, screenshot, screenshots, recipes, \
            ejemplo, ejemplos, exemplo, exemplos, exemple, exemples, beispiel, beispiele, \
            пример, примеры, 示例, 例子, 案例, 範例, サンプル, 使用例, 예제, 예시",
        first: "",
        whole: "",
    },
    HeadingTopic {
        name: "configuration",
        anywhere: "configuration, configuring, config, settings, environment variables, options, \
            customization, customize, configuración, configuração, configurer, konfiguration, \
            einstellungen, конфигурация, настройка, настройки, 配置, 设置, 設定, 環境変数, 설정, 환경 변수",
        first: "parameters, flags, environment, cargo features, crate features, feature flags",
        whole: "",
    },
    HeadingTopic {
        name: "tests",
        anywhere: "tests, testing, test suite, running tests, run tests, pruebas, testes, тесты, \
            тестирование, 测试, 測試, テスト, 테스트",
        first: "test",
        whole: "",
    },
    HeadingTopic {
        name: "documentation",
        anywhere: "documentation, docs, user guide, manual, wiki, reference, learn more, further \
            reading, read more, resources, documentación, documentação, dokumentation, \
            документация, 文档, 文件, ドキュメント, 문서",
        first: "guides, more information, api reference",
        whole: "links, learn, reference, docs",
    },
    HeadingTopic {
        name: "help",
        anywhere: "community, contact, questions, faq, troubleshooting, feedback, discussion, \
            discussions, mailing list, chat, reporting issues, report a bug, bug reports, known \
            issues, ayuda, soporte, contacto, comunidad, ajuda, suporte, contato, aide, \
            communauté, hilfe, unterstützung, kontakt, fragen, помощь, поддержка, контакты, \
            сообщество, 帮助, 支持, 反馈, 联系, 社区, 常见问题, 交流, ヘルプ, サポート, お問い合わせ, 도움, 지원, 문의, 커뮤니티, \
            getting help, get help, getting support, need help, commercial support, community \
            support",
        first: "",
        whole: "help, support, chat, issues, bugs",
    },
    HeadingTopic {
        name: "contributing",
        anywhere: "contributing, contribute, contribution, contributions, contributors, developing, \
            hacking, local development, development setup, developer guide, for developers, pull \
            requests, contribuir, contribuciones, desarrollo, contribuindo, contribuição, \
            contribuições, desenvolvimento, contribuer, développement, mitwirken, beitragen, \
            entwicklung, участие, вклад, разработка, 贡献, 参与, 开发, 貢獻, 貢献, コントリビュート, 開発, 기여, 개발",
        first: "development, get involved, how to help, maintainers",
        whole: "",
    },
    HeadingTopic {
        name: "licence",
        anywhere: "license, licence, licensing, licenses, copyright, legal, licencia, licença, lizenz, \
            лицензия, 许可, 授权, 协议, 版权, 授權, ライセンス, 라이선스, 라이센스",
        first: "",
        whole: "",
    },
];

/// Whether a heading names a topic.
pub(super) fn names(heading: &str, topic: &str) -> bool {
    let plain = plain(heading);
    let Some(topic) = TOPICS.iter().find(|known| known.name == topic) else { return false };
    let anywhere = |word: &str| {
        // In scripts without spaces, words appear inside others.
        let dense = word.chars().all(|c| c > '\u{2e80}' || c == ' ');
        if dense { plain.contains(word) } else { has(&plain, word) }
    };
    each(topic.anywhere).any(anywhere)
        || each(topic.first).any(|word| after(&plain, word).is_some())
        || each(topic.whole).any(|word| plain.trim() == word)
}

/// Whether a heading names any topic at all.
pub(super) fn names_any(heading: &str) -> bool {
    TOPICS.iter().any(|topic| names(heading, topic.name))
}

/// Splits a list separated by `, `.
pub(super) fn each(list: &'static str) -> impl Iterator<Item = &'static str> {
    list.split(", ").filter(|phrase| !phrase.is_empty())
}

/// Returns the text after a phrase at the start of a [`plain`] text, by whole words.
pub(super) fn after<'a>(plain: &'a str, phrase: &str) -> Option<&'a str> {
    plain.strip_prefix(' ')?.strip_prefix(phrase)?.strip_prefix(' ')
}

/// Whether a [`plain`] text contains a phrase as whole words.
pub(super) fn has(plain: &str, phrase: &str) -> bool {
    plain.match_indices(phrase).any(|(at, _)| {
        let before = plain.get(..at).is_none_or(|before| before.ends_with(' '));
        before && plain.get(at + phrase.len()..).is_none_or(|after| after.starts_with(' '))
    })
}

/// Keeps letters and digits in lowercase, with one space between words and at both ends; drops leading numbers.
pub(super) fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len() + 2);
    plain.push(' ');
    for c in text.chars() {
        if c.is_alphanumeric() {
            plain.extend(c.to_lowercase());
        } else if !plain.ends_with(' ') {
            plain.push(' ');
        }
    }
    if !plain.ends_with(' ') {
        plain.push(' ');
    }
    let unnumbered = plain.trim_start_matches(|c: char| c.is_ascii_digit() || c == ' ');
    if unnumbered.is_empty() { plain } else { format!(" {unnumbered}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_name_topics_in_many_languages() {
        let cases = [
            ("Installation", "installation", true),
            ("🚀 2. Installing from source", "installation", true),
            ("Instalación", "installation", true),
            ("Инструкция: установка", "installation", true),
            ("安装说明", "installation", true),
            ("インストール方法", "installation", true),
            ("설치하기", "installation", true),
            ("Einrichtung", "installation", true),
            ("Installer", "installation", true),
            ("Reinstallation", "installation", false),
            ("Erste Schritte", "usage", true),
            ("Using it", "usage", true),
            ("Why use it", "usage", false),
            ("Use", "usage", true),
            ("Use cases", "usage", false),
            ("Support", "help", true),
            ("Browser support", "help", false),
            ("Licença", "licence", true),
            ("ライセンス", "licence", true),
            ("Tests", "tests", true),
            ("Latest news", "tests", false),
            ("Prérequis", "requirements", true),
            ("Mitwirken", "contributing", true),
            ("Поддержка", "help", true),
            ("Anything", "no such topic", false),
        ];
        for (heading, topic, want) in cases {
            assert_eq!(names(heading, topic), want, "{heading}");
        }
        assert!(names_any("Documentación"));
        assert!(!names_any("docent"));
    }

    #[test]
    fn plain_text_has_single_spaces() {
        let cases =
            [("1.2 What's new?", " what s new "), ("", " "), ("42", " 42 "), ("--Über", " über ")];
        for (text, want) in cases {
            assert_eq!(plain(text), want, "{text}");
        }
    }
}
