; Everything is a call; the first word determines its kind.
(call target: (identifier) @_word (arguments . (alias) @name) (do_block) @body
  (#eq? @_word "defmodule")) @module
(call target: (identifier) @_word (arguments . (alias) @name) (do_block) @body
  (#eq? @_word "defprotocol")) @interface
; `defimpl Protocol, for: Type` makes the module `Protocol.Type`.
(call target: (identifier) @_word
  (arguments . (alias) @name (keywords (pair key: (keyword) @_for value: (alias) @name)))
  (do_block) @body
  (#eq? @_word "defimpl") (#match? @_for "^for:")) @scope
(call target: (identifier) @_word (arguments . (alias) @name) (do_block) @body
  (#eq? @_word "defimpl")) @scope

(call target: (identifier) @_word
  (arguments . [
    (call target: (identifier) @name (arguments) @parameters)
    (identifier) @name
    (binary_operator
      left: [(call target: (identifier) @name (arguments) @parameters) (identifier) @name]
      operator: "when")
  ] . (keywords)? @body)
  (do_block)? @body
  (#any-of? @_word "def" "defdelegate")) @function @callable
(call target: (identifier) @_word @private
  (arguments . [
    (call target: (identifier) @name (arguments) @parameters)
    (identifier) @name
    (binary_operator
      left: [(call target: (identifier) @name (arguments) @parameters) (identifier) @name]
      operator: "when")
  ] . (keywords)? @body)
  (do_block)? @body
  (#any-of? @_word "defp")) @function @callable
(call target: (identifier) @_word
  (arguments . [
    (call target: (identifier) @name (arguments) @parameters)
    (identifier) @name
    (binary_operator
      left: [(call target: (identifier) @name (arguments) @parameters) (identifier) @name]
      operator: "when")
  ] . (keywords)? @body)
  (do_block)? @body
  (#any-of? @_word "defmacro" "defguard")) @macro @callable
(call target: (identifier) @_word @private
  (arguments . [
    (call target: (identifier) @name (arguments) @parameters)
    (identifier) @name
    (binary_operator
      left: [(call target: (identifier) @name (arguments) @parameters) (identifier) @name]
      operator: "when")
  ] . (keywords)? @body)
  (do_block)? @body
  (#any-of? @_word "defmacrop" "defguardp")) @macro @callable
; Operators.
(call target: (identifier) @_word
  (arguments . (binary_operator operator: _ @name) @parameters (keywords) @body)
  (#any-of? @_word "def" "defmacro") (#not-eq? @name "when")) @function @callable
(call target: (identifier) @_word
  (arguments . (binary_operator operator: _ @name) @parameters .) (do_block) @body
  (#any-of? @_word "def" "defmacro") (#not-eq? @name "when")) @function @callable
(call target: (identifier) @_word @private
  (arguments . (binary_operator operator: _ @name) @parameters (keywords) @body)
  (#any-of? @_word "defp" "defmacrop") (#not-eq? @name "when")) @function @callable
(call target: (identifier) @_word @private
  (arguments . (binary_operator operator: _ @name) @parameters .) (do_block) @body
  (#any-of? @_word "defp" "defmacrop") (#not-eq? @name "when")) @function @callable

(unary_operator operator: "@" operand: (call target: (identifier) @_word
  (arguments (binary_operator left: [(identifier) @name (call target: (identifier) @name)] operator: "::")))
  (#any-of? @_word "type" "opaque")) @type
(unary_operator operator: "@" operand: (call target: (identifier) @_word @private
  (arguments (binary_operator left: [(identifier) @name (call target: (identifier) @name)] operator: "::")))
  (#eq? @_word "typep")) @type
; Callbacks required by a behaviour.
(unary_operator operator: "@" operand: (call target: (identifier) @_word
  (arguments (binary_operator left: [(identifier) @name (call target: (identifier) @name)] operator: "::")))
  (#any-of? @_word "callback" "macrocallback")) @function
(unary_operator operator: "@" operand: (call target: (identifier) @_word
  (arguments (binary_operator
    left: (binary_operator left: [(identifier) @name (call target: (identifier) @name)] operator: "::")
    operator: "when")))
  (#any-of? @_word "callback" "macrocallback")) @function

; Values of a module.
(do_block (unary_operator operator: "@" operand: (call target: (identifier) @name @private
  (arguments . [(integer) (float) (string) (charlist) (atom) (boolean) (list) (tuple) (map) (sigil) (call) (binary_operator)])))
  @constant
  (#not-any-of? @name "doc" "moduledoc" "typedoc" "shortdoc" "spec" "type" "typep" "opaque" "callback" "macrocallback"
    "optional_callbacks" "behaviour" "behavior" "impl" "deprecated" "dialyzer" "since" "decorate" "tag" "moduletag" "compile"
    "derive" "enforce_keys" "before_compile" "after_compile" "on_definition" "on_load" "external_resource" "vsn" "fallback_to_any"
    "describetag" "nifs" "primary_key" "foreign_key_type" "schema_prefix" "timestamps_opts"))
