//! Supported syntax: modules and function bodies, JavaScript and TypeScript.

use crate::stage::check_all;
use serde_json::json;

#[test]
fn forms_of_a_script() {
    check_all(&[
        ("return 1", json!(1)),
        ("const x: number = 2; return x", json!(2)),
        ("1 + 2", json!(3)),
        ("const a = 1;\na + 1;\n// the end", json!(2)),
        ("export default 4", json!(4)),
        ("export default async function main() { return 5 }", json!(5)),
        ("export default function () { return 6 }", json!(6)),
        ("export default (async () => 7)()", json!(7)),
        ("async () => { return 8 }", json!(8)),
        ("(async () => { return 9 })()", json!(9)),
        ("async function main() { return 10 }\nmain()", json!(10)),
        ("async function main() { return 11 }\nreturn await main()", json!(11)),
        ("export const x = 1; export function f() {}; export { x as y }; return x", json!(1)),
        ("if (true) return 12; 13", json!(12)),
        ("const f = () => { return 1 }; f() + 13", json!(14)),
        ("const x = await Promise.resolve(15); x", json!(15)),
        ("for await (const x of [Promise.resolve(16)]) return x", json!(16)),
        ("#!/usr/bin/env node\n17", json!(17)),
        ("", json!(null)),
        ("// nothing", json!(null)),
        ("let x = 1", json!(null)),
        ("export default 18;\nconst later = 1; console.log(later)", json!(18)),
        ("function f(this: Date, a: number) { return a } f.call(new Date, 19)", json!(19)),
        ("var f = 20; export { f }; interface A {}\nf", json!(20)),
    ]);
}

#[test]
fn imports() {
    check_all(&[
        (
            "import { add } from 'mcp-clients/calc'; return await add({ a: 1, b: 2 })",
            json!({ "sum": 3 }),
        ),
        (
            "import { add as plus, $call } from \"mcp-clients/calc\"\nreturn [(await plus({})).sum, (await $call('say', { text: 'x' })).content[0].text]",
            json!([0, "x"]),
        ),
        ("import * as calc from 'mcp-clients/calc'; await calc.say({ text: 'a' })", json!("a")),
        ("import calc from 'mcp-clients/calc'; await calc.say({ text: 'b' })", json!("b")),
        (
            "import { default as calc } from './mcp-clients/calc.js'; await calc.say({ text: 'c' })",
            json!("c"),
        ),
        ("import { getUser } from 'mcp-clients/my-fs.v2'; await getUser()", json!("my-fs.v2")),
        (
            "import { 'get-user' as user } from 'mcp-clients/my-fs.v2'; await user()",
            json!("my-fs.v2"),
        ),
        ("import * as fs from 'mcp-clients/my-fs.v2'; await fs['get-user']()", json!("my-fs.v2")),
        (
            "import type { AddInput } from 'nowhere'; import { add, type X, AddInput as Y } from 'mcp-clients/calc'; const i: AddInput = { a: 1 }; (await add(i)).sum",
            json!(1),
        ),
        ("const { add } = await import('mcp-clients/calc'); (await add({ a: 5 })).sum", json!(5)),
        ("(await mcp.calc.add({ a: 1, b: 1 })).sum", json!(2)),
        ("await mcp['my-fs.v2'].getUser()", json!("my-fs.v2")),
        ("Object.keys(mcp)", json!(["calc", "my-fs.v2"])),
        (
            "return await add({ a: 1 });\nimport { add } from 'mcp-clients/calc'",
            json!({ "sum": 1 }),
        ),
        ("import 'mcp-clients/calc'; 1", json!(1)),
        (
            "\nimport fs from 'fs'",
            json!(
                "Import 2:16 there is no module \"fs\"; available: mcp-clients/calc, mcp-clients/my-fs.v2"
            ),
        ),
        (
            "import { ad } from 'mcp-clients/calc'",
            json!(
                "Import 1:10 mcp-clients/calc has no tool \"ad\"; it has: add, echo, say, getUser, image, empty, wrong, broken, meet, never, $call"
            ),
        ),
        (
            "export * from 'x'",
            json!(
                "Import 1:15 there is no module \"x\"; available: mcp-clients/calc, mcp-clients/my-fs.v2"
            ),
        ),
        (
            "await import('fs')",
            json!(
                "Thrown 1:13 Error: there is no module \"fs\"; available: mcp-clients/calc, mcp-clients/my-fs.v2"
            ),
        ),
    ]);
}

#[test]
fn types_are_erased() {
    check_all(&[
        (
            "type A = { b: string }; interface B extends A { c?: number }\nconst x: B = { b: 'x' }; x.b",
            json!("x"),
        ),
        (
            "function f<T extends object>(a: T, b?: number, ...c: string[]): a is T { return b === undefined }\nf<{}>({})",
            json!(true),
        ),
        ("const f = <T,>(a: T): T => a; f(1)", json!(1)),
        ("const f = async <T>(a: T): Promise<T> => a; await f(2)", json!(2)),
        ("const f = (a: number): {\n  b: number\n} => ({ b: a }); f(3)", json!({ "b": 3 })),
        ("const f = () => { return <\n T\n>(a: T) => a }; f()(4)", json!(4)),
        ("const x = 1 as unknown as string\n;[x]", json!([1])),
        (
            "let n = 0\nconst f = (x: any) => { n++; return x }\nconst y = f as any\n(f)(1)\nn",
            json!(1),
        ),
        ("const a = { b: 1 } satisfies object; a!.b!", json!(1)),
        (
            "const a = <any>{ b: 1 }; const f = () => <any>{ c: 2 }; [a, f()]",
            json!([{ "b": 1 }, { "c": 2 }]),
        ),
        ("let x!: number; x = 1; x", json!(1)),
        (
            "declare const y: number; declare function f(): void; declare class C {}; declare module 'x' { }; declare global { }\n5",
            json!(5),
        ),
        (
            "function f(a: string): string\nfunction f(a: number): number\nfunction f(a: any) { return a }\nf(6)",
            json!(6),
        ),
        (
            "abstract class A<T> { abstract b(): void; protected readonly c: number = 7; static d?: string; [key: string]: any; declare e: number; private f!: number; get g(): number { return this.c } m?(): void }\nclass B extends A<string> implements I, J<K> { override b() {} constructor(public x: number, private readonly y = 2) { super(); } }\nconst z = new B(1) as any; [z.c, z.g, z.x, z.y]",
            json!([7, 7, 1, 2]),
        ),
        ("class P { constructor(readonly a: number) {} } new P(8).a", json!(8)),
        (
            "enum E { A, B = 5, C, D = 'd', F = B | 2, 'x-y' = 9 }\n[E.A, E.B, E.C, E.D, E.F, E[5], E['x-y'], E[9]]",
            json!([0, 5, 6, "d", 7, "B", 9, "x-y"]),
        ),
        (
            "const enum Z {\n  A = 1,\n  B,\n}\nexport enum Y {}\nif (Z.B === 2) throw new Error('x')",
            json!("Thrown 6:26 Error: x"),
        ),
        (
            "try { throw 1 } catch (e: unknown) { }\nfor (const x of [1] as number[]) {}\nfor (let i = 0 as number; i < 1; i++) {}\n1",
            json!(1),
        ),
        (
            "const a: Array<Map<string, number>> = [], b = new Map<string, number>(); b.size",
            json!(0),
        ),
        (
            "type F = (a: number) => void; let f: F | undefined; const s = `${(1 as number)}`; s",
            json!("1"),
        ),
        (
            "const o = { m<T>(this: any, a: T): T { return a }, async *g(): AsyncGenerator<number> { yield 1 } }; o.m(1)",
            json!(1),
        ),
        (
            "export type { X } from 'y'; export interface I {}; export type T = 1; export abstract class C {}; 2",
            json!(2),
        ),
        ("const x = 1 < 2, y = (3) > (4); [x, y]", json!([true, false])),
    ]);
}

#[test]
fn what_needs_a_compiler_is_refused() {
    check_all(&[
        (
            "import x = require('y')",
            json!(
                "Syntax 1:1 code mode can't run `import … =`; write `import * as name from \"mcp-clients/<id>\"`"
            ),
        ),
        (
            "namespace N { export const a = 1 }",
            json!("Syntax 1:1 code mode can't run a namespace; use an object"),
        ),
        (
            "@d class C {}",
            json!("Syntax 1:1 code mode can't run a decorator; call the function in plain code"),
        ),
    ]);
}

#[test]
fn nothing_else_is_there() {
    check_all(&[
        (
            "[typeof fetch, typeof process, typeof require, typeof Deno, typeof WebSocket, typeof std, typeof os, typeof SharedArrayBuffer, typeof Atomics].join()",
            json!(["undefined"; 9].join_text()),
        ),
        (
            "typeof (0, eval)('this').host + typeof Function('return this')().fetch",
            json!("undefinedundefined"),
        ),
        (
            "try { await Function('return import(\"fs\")')(); return 'loaded' } catch (e) { return 'refused' }",
            json!("refused"),
        ),
        (
            "try { await (0, eval)('import(\"/etc/passwd\")'); return 'loaded' } catch (e) { return 'refused' }",
            json!("refused"),
        ),
        ("x = 1", json!("Thrown 1:1 ReferenceError: x is not defined")),
    ]);
}

trait JoinText {
    fn join_text(&self) -> String;
}

impl JoinText for [&str; 9] {
    fn join_text(&self) -> String {
        self.join(",")
    }
}
