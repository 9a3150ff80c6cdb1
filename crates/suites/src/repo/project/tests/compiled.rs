//! Projects in compiled languages.

use super::{Fixture, dependency};
use crate::repo::report::Purpose;

#[test]
fn a_program_in_rust() {
    Fixture::new(&[
        (
            "Cargo.toml",
            "[package]\nname = \"count-lines\"\nrust-version = \"1.80\"\n\n[lints.clippy]\nall = \"warn\"\n\n[[example]]\nname = \"small\"\npath = \"demo/small.rs\"\n",
        ),
        ("src/main.rs", "fn main() {}\n"),
        ("src/lib.rs", ""),
        ("src/bin/extra.rs", "fn main() {}\n"),
        ("src/bin/other/main.rs", "fn main() {}\n"),
        ("examples/plain.rs", "fn main() {}\n"),
        ("demo/small.rs", "fn main() {}\n"),
        ("benches/speed.rs", ""),
        ("rustfmt.toml", ""),
        ("rust-toolchain.toml", "[toolchain]\nchannel = \"1.85\"\n"),
        (".cargo/config.toml", "[alias]\nxtask = \"run -p xtask --\"\n"),
        (
            "justfile",
            "set shell := [\"bash\", \"-c\"]\nversion := \"1\"\n\n# Everything\ndefault: test lint\n\ntest *args:\n    cargo test {{args}}\n\nlint:\n    cargo clippy\n\n[private]\nhidden:\n    true\n\nrelease version:\n    cargo publish\n",
        ),
        (
            ".github/workflows/ci.yml",
            "jobs:\n  test:\n    steps:\n      - uses: actions/checkout@v4\n      - run: cargo test --all-features\n      - run: |\n          cargo fmt --check\n          just lint\n",
        ),
        (
            "README.md",
            "# count-lines\n\n[![Build](a.svg)](b)\n\nCounts lines of code. Quickly.\n\n## Install\n\n```sh\ncargo install count-lines\n```\n\n## Build\n\n```console\n$ git clone https://a.example/count-lines\n$ cd count-lines\n$ cargo build --release\n   Compiling count-lines\n$ ./target/release/count-lines .\n```\n",
        ),
    ])
    .with("Cargo.toml", "Cargo", "count-lines", &["clap"])
    .where_it(|manifest| manifest.description = Some("Counts lines of code on the command line".into()))
    .check(&[
        "CommandLine: the description says “command line”",
        "summary: Counts lines of code on the command line",
        "framework: clap",
        "Binary count-lines: src/main.rs by Cargo.toml",
        "Binary extra: src/bin/extra.rs by Cargo.toml",
        "Binary other: src/bin/other/main.rs by Cargo.toml",
        "Library count_lines: src/lib.rs by Cargo.toml",
        "Example small: demo/small.rs by Cargo.toml",
        "Example plain: examples/plain.rs by Cargo.toml",
        "Install in .: cargo install --path . by Cargo.toml",
        "Install in .: cargo install count-lines by README.md:10",
        "Build in .: cargo build by Cargo.toml",
        "Build in .: cargo build --release by README.md:18",
        "Test in .: just test by justfile:7",
        "Test in .: cargo test by Cargo.toml",
        "Test in .: just default by justfile:5",
        "Test in .: cargo test --all-features by .github/workflows/ci.yml:5",
        "Lint in .: just lint by justfile:10",
        "Lint in .: cargo clippy by Cargo.toml",
        "Lint in .: cargo fmt --check by .github/workflows/ci.yml:7",
        "Format in .: cargo fmt by rustfmt.toml",
        "Docs in .: cargo doc --no-deps by Cargo.toml",
        "Bench in .: cargo bench by Cargo.toml",
        "Release in .: just release <version> by justfile:17",
        "Other in .: cargo xtask by .cargo/config.toml:2",
        "tool: Rust 1.85 by rust-toolchain.toml",
        "tool: Rust 1.80 by Cargo.toml",
    ]);
}

#[test]
fn a_workspace_in_rust() {
    Fixture::new(&[
        ("Cargo.toml", "[workspace]\nmembers = [\"crates/*\", \"xtask\"]\n\n[workspace.package]\nrust-version = \"1.90\"\n"),
        ("crates/core/Cargo.toml", "[package]\nname = \"core\"\n"),
        ("crates/core/src/lib.rs", ""),
        ("crates/server/Cargo.toml", "[package]\nname = \"server\"\n"),
        ("crates/server/src/main.rs", "fn main() {}\n"),
        ("crates/core/tests/fixtures/Cargo.toml", "[package]\nname = \"fixture\"\n"),
        ("README.md", "# Server\n\nA server of files for a team.\n"),
    ])
    .with("Cargo.toml", "Cargo", "", &[])
    .where_it(|manifest| {
        manifest.members = vec!["crates/core/Cargo.toml".into(), "crates/server/Cargo.toml".into()];
    })
    .with("crates/core/Cargo.toml", "Cargo", "core", &["tokio"])
    .where_it(|manifest| manifest.workspace = Some("Cargo.toml".into()))
    .with("crates/server/Cargo.toml", "Cargo", "server", &["axum", "tokio"])
    .where_it(|manifest| manifest.workspace = Some("Cargo.toml".into()))
    .with("crates/core/tests/fixtures/Cargo.toml", "Cargo", "fixture", &["clap"])
    .check(&[
        "Monorepo: Cargo.toml declares a workspace of 2 packages",
        "summary: A server of files for a team.",
        "framework: Tokio",
        "framework: axum",
        "Binary server: crates/server/src/main.rs by crates/server/Cargo.toml",
        "Library core: crates/core/src/lib.rs by crates/core/Cargo.toml",
        "Build in .: cargo build by Cargo.toml",
        "Test in .: cargo test by Cargo.toml",
        "tool: Rust 1.90 by Cargo.toml",
    ]);
}

#[test]
fn a_program_in_go() {
    Fixture::new(&[
        ("go.mod", "module example.org/tool/v2\n\ngo 1.22\n\ntoolchain go1.22.4 // for tests\n"),
        ("cmd/tool/main.go", "// Tool.\npackage main\n\nfunc main() {}\n"),
        ("cmd/tool/other.go", "package main\n"),
        ("tools/gen/main.go", "//go:build ignore\n\npackage main\n"),
        ("internal/a/main.go", "package a\n"),
        (".golangci.yml", ""),
        (".goreleaser.yaml", ""),
        (
            "Makefile",
            "VERSION := $(shell git describe)\nGO ?= go\n\n.PHONY: all build test lint \\\n\tgenerate\n\nall: build\n\nbuild: bin/tool\n\nbin/tool: $(wildcard *.go)\n\t$(GO) build -o $@ ./cmd/tool\n\ntest:\n\t@go test ./...\n\ngenerate:\n\tgo generate ./...\n\nlint: VERBOSE = 1\nlint:\n\tgolangci-lint run\n\n%.pb.go: %.proto\n\tprotoc $<\n",
        ),
        (
            ".github/workflows/test.yaml",
            "jobs:\n  test:\n    steps:\n      - run: sudo apt-get update\n      - run: go mod download\n      - run: make test\n      - run: go test -race ./... ${{ matrix.flags }}\n",
        ),
    ])
    .with("go.mod", "Go", "example.org/tool/v2", &["github.com/spf13/cobra"])
    .check(&[
        "CommandLine: go.mod builds the program tool with Cobra",
        "framework: Cobra",
        "Binary tool: cmd/tool/main.go by go.mod",
        "Install in .: go mod download by go.mod",
        "Build in .: make build by Makefile:9",
        "Build in .: go build ./... by go.mod",
        "Build in .: make all by Makefile:7",
        "Test in .: make test by Makefile:14",
        "Test in .: go test ./... by go.mod",
        "Run in .: go run ./cmd/tool by go.mod",
        "Lint in .: make lint by Makefile:21",
        "Lint in .: golangci-lint run by .golangci.yml",
        "Release in .: goreleaser release by .goreleaser.yaml",
        "Other in .: make generate by Makefile:17",
        "tool: Go 1.22 by go.mod",
        "tool: Go toolchain go1.22.4 by go.mod",
    ]);
}

#[test]
fn a_service_in_java() {
    Fixture::new(&[
        (
            "pom.xml",
            "<project>\n<parent><artifactId>spring-boot-starter-parent</artifactId></parent>\n<properties><java.version>21</java.version></properties>\n<build><plugins><plugin><artifactId>spring-boot-maven-plugin</artifactId></plugin></plugins></build>\n</project>\n",
        ),
        ("mvnw", "#!/bin/sh\n"),
        (".mvn/wrapper/maven-wrapper.properties", "distributionUrl=https://a.example/apache-maven-3.9.6-bin.zip\n"),
        (
            "src/main/java/org/samples/ShopApplication.java",
            "package org.samples;\n\n@SpringBootApplication\npublic class ShopApplication {}\n",
        ),
        ("README.adoc", "= Shop\n\nShop is a small service for https://a.example[orders] and stock.\n\n== Run\n\n[source,bash]\n----\n./mvnw spring-boot:run\n----\n"),
    ])
    .with("pom.xml", "Maven", "shop", &["org.springframework.boot:spring-boot-starter-web"])
    .check(&[
        "Service: pom.xml depends on Spring Boot",
        "summary: Shop is a small service for orders and stock.",
        "framework: Spring Boot",
        "Binary ShopApplication: src/main/java/org/samples/ShopApplication.java by src/main/java/org/samples/ShopApplication.java",
        "Build in .: ./mvnw package by pom.xml",
        "Test in .: ./mvnw test by pom.xml",
        "Run in .: ./mvnw spring-boot:run by README.adoc:9",
        "tool: Java 21 by pom.xml",
        "tool: Maven 3.9.6 by .mvn/wrapper/maven-wrapper.properties",
    ]);
}

#[test]
fn a_library_in_kotlin() {
    Fixture::new(&[
        ("build.gradle.kts", "plugins {\n    `java-library`\n    id(\"maven-publish\")\n}\nkotlin {\n    jvmToolchain(17)\n}\n"),
        ("settings.gradle.kts", "rootProject.name = \"parser\"\n"),
        ("gradlew", "#!/bin/sh\n"),
        ("gradle/wrapper/gradle-wrapper.properties", "distributionUrl=https\\://a.example/gradle-8.7-bin.zip\n"),
        ("src/main/kotlin/Parser.kt", "class Parser\n"),
        ("buildSrc/build.gradle.kts", ""),
    ])
    .with("build.gradle.kts", "Gradle", "parser", &[])
    .with("buildSrc/build.gradle.kts", "Gradle", "", &[])
    .check(&[
        "Library: build.gradle.kts exports parser",
        "Library parser: nowhere by build.gradle.kts",
        "Build in .: ./gradlew build by build.gradle.kts",
        "Test in .: ./gradlew test by build.gradle.kts",
        "tool: Java 17 by build.gradle.kts",
        "tool: Gradle 8.7 by gradle/wrapper/gradle-wrapper.properties",
    ]);
}

#[test]
fn a_service_in_dotnet() {
    Fixture::new(&[
        ("Shop.sln", ""),
        ("global.json", "{\"sdk\": {\"version\": \"8.0.100\"}}\n"),
        (
            "src/Shop/Shop.csproj",
            "<Project Sdk=\"Microsoft.NET.Sdk.Web\">\n<PropertyGroup><TargetFramework>net8.0</TargetFramework></PropertyGroup>\n</Project>\n",
        ),
        ("src/Shop/Program.cs", ""),
        ("src/Shop.Core/Shop.Core.csproj", "<Project Sdk=\"Microsoft.NET.Sdk\"></Project>\n"),
        ("test/Shop.Tests/Shop.Tests.csproj", "<Project></Project>\n"),
    ])
    .with("Shop.sln", ".NET", "Shop", &[])
    .where_it(|manifest| manifest.members = vec!["src/Shop/Shop.csproj".into()])
    .with("src/Shop/Shop.csproj", ".NET", "Shop", &["Microsoft.EntityFrameworkCore.Sqlite"])
    .with("src/Shop.Core/Shop.Core.csproj", ".NET", "Shop.Core", &[])
    .with("test/Shop.Tests/Shop.Tests.csproj", ".NET", "Shop.Tests", &["xunit"])
    .check(&[
        "Service: src/Shop/Shop.csproj depends on ASP.NET Core",
        "framework: ASP.NET Core",
        "framework: Entity Framework Core",
        "Binary Shop: src/Shop/Program.cs by src/Shop/Shop.csproj",
        "Library Shop.Core: nowhere by src/Shop.Core/Shop.Core.csproj",
        "Install in .: dotnet restore by Shop.sln",
        "Build in .: dotnet build by Shop.sln",
        "Test in .: dotnet test by Shop.sln",
        "Run in .: dotnet run --project src/Shop by Shop.sln",
        "tool: .NET SDK 8.0.100 by global.json",
        "tool: .NET net8.0 by src/Shop/Shop.csproj",
    ]);
}

#[test]
fn a_library_in_swift() {
    Fixture::new(&[
        (
            "Package.swift",
            "// swift-tools-version: 5.9\nlet package = Package(\n  name: \"parser\",\n  products: [\n    .library(\n      name: \"Parser\", targets: [\"Parser\"]),\n  ],\n  targets: [\n    .executableTarget(name: \"demo\", path: \"Examples/demo\"),\n    .testTarget(name: \"ParserTests\"),\n  ])\n",
        ),
        ("Sources/Parser/Parser.swift", ""),
    ])
    .with("Package.swift", "Swift", "parser", &["apple/swift-collections"])
    .check(&[
        "Library: Package.swift exports Parser",
        "Library Parser: nowhere by Package.swift",
        "Build in .: swift build by Package.swift",
        "Test in .: swift test by Package.swift",
        "tool: Swift 5.9 by Package.swift",
    ]);
}

#[test]
fn a_program_with_windows_in_cpp() {
    Fixture::new(&[
        (
            "CMakeLists.txt",
            "cmake_minimum_required(VERSION 3.20)\nproject(Paint)\nset(CMAKE_CXX_STANDARD 20)\nfind_package(Qt6 REQUIRED)\nenable_testing()\nadd_executable(paint src/main.cpp)\nadd_executable(paint_test test.cpp)\nadd_subdirectory(src)\n",
        ),
        ("src/CMakeLists.txt", "add_library(${NAME} a.cpp)\n"),
        ("src/main.cpp", "int main() {}\n"),
    ])
    .with("CMakeLists.txt", "CMake", "Paint", &["Qt6"])
    .with("src/CMakeLists.txt", "CMake", "", &[])
    .check(&[
        "DesktopApplication: CMakeLists.txt depends on Qt",
        "framework: Qt",
        "Binary paint: src/main.cpp by CMakeLists.txt",
        "Build in .: cmake -B build && cmake --build build by CMakeLists.txt",
        "Test in .: ctest --test-dir build by CMakeLists.txt",
        "tool: CMake 3.20 by CMakeLists.txt",
        "tool: C++ 20 by CMakeLists.txt",
    ]);
}

#[test]
fn a_member_that_depends_upwards_does_not_hide_the_project() {
    Fixture::new(&[
        ("Cargo.toml", "[package]\nname = \"tool\"\n"),
        ("src/lib.rs", ""),
        ("fuzz/Cargo.toml", "[package]\nname = \"fuzz\"\n[workspace]\n"),
    ])
    .with("Cargo.toml", "Cargo", "tool", &[])
    .where_it(|manifest| {
        manifest.workspace = Some("fuzz/Cargo.toml".into());
        manifest.dependencies = vec![dependency("tokio", Purpose::Optional)];
    })
    .with("fuzz/Cargo.toml", "Cargo", "fuzz", &[])
    .check(&[
        "Library: Cargo.toml exports tool",
        "Library tool: src/lib.rs by Cargo.toml",
        "Build in .: cargo build by Cargo.toml",
        "Test in .: cargo test by Cargo.toml",
        "Docs in .: cargo doc --no-deps by Cargo.toml",
    ]);
}
