; The head of a definition has the form of a call: only calls in other positions count.
; Without arguments, it is a field of a map.
(call target: (dot right: (identifier) @name) (arguments)) @call
; `items |> sort`, without parentheses.
(binary_operator operator: "|>" right: (identifier) @name) @call
([
  (do_block (call target: (identifier) @name) @call)
  (else_block (call target: (identifier) @name) @call)
  (rescue_block (call target: (identifier) @name) @call)
  (after_block (call target: (identifier) @name) @call)
  (catch_block (call target: (identifier) @name) @call)
  (body (call target: (identifier) @name) @call)
  (block (call target: (identifier) @name) @call)
  (list (call target: (identifier) @name) @call)
  (tuple (call target: (identifier) @name) @call)
  (pair (call target: (identifier) @name) @call)
  (access_call (call target: (identifier) @name) @call)
  (map_content (call target: (identifier) @name) @call)
  (interpolation (call target: (identifier) @name) @call)
  (dot (call target: (identifier) @name) @call)
  (source (call target: (identifier) @name) @call)
  (call target: (dot) (arguments (call target: (identifier) @name) @call))
] (#not-any-of? @name "alias" "import" "use" "require" "if" "unless" "case" "cond" "for" "with" "try" "receive" "quote" "unquote"
    "unquote_splicing" "super" "doc" "moduledoc" "typedoc" "spec" "type" "typep" "opaque" "callback" "behaviour" "impl"
    "def" "defp" "defmacro" "defmacrop" "defguard" "defguardp" "defdelegate" "defmodule" "defprotocol" "defimpl" "defstruct"
    "defexception"))
(call target: (identifier) @_outer (arguments (call target: (identifier) @name) @call)
  (#not-any-of? @_outer "def" "defp" "defmacro" "defmacrop" "defguard" "defguardp" "defdelegate" "defmodule" "defprotocol" "defimpl" "defstruct"
    "defexception"
    "spec" "type" "typep" "opaque" "callback")
  (#not-any-of? @name "alias" "import" "use" "require" "if" "unless" "case" "cond" "for" "with" "try" "receive" "quote" "unquote"
    "unquote_splicing" "super" "doc" "moduledoc" "typedoc" "spec" "type" "typep" "opaque" "callback" "behaviour" "impl"
    "def" "defp" "defmacro" "defmacrop" "defguard" "defguardp" "defdelegate" "defmodule" "defprotocol" "defimpl" "defstruct"
    "defexception"))
(binary_operator left: (call target: (identifier) @name) @call operator: _ @_operator
  (#not-any-of? @_operator "when" "::" "\\\\")
  (#not-any-of? @name "alias" "import" "use" "require" "if" "unless" "case" "cond" "for" "with" "try" "receive" "quote" "unquote"
    "unquote_splicing" "super" "doc" "moduledoc" "typedoc" "spec" "type" "typep" "opaque" "callback" "behaviour" "impl"
    "def" "defp" "defmacro" "defmacrop" "defguard" "defguardp" "defdelegate" "defmodule" "defprotocol" "defimpl" "defstruct"
    "defexception"))
(binary_operator operator: _ @_operator right: (call target: (identifier) @name) @call
  (#not-any-of? @_operator "when" "::" "|")
  (#not-any-of? @name "alias" "import" "use" "require" "if" "unless" "case" "cond" "for" "with" "try" "receive" "quote" "unquote"
    "unquote_splicing" "super" "doc" "moduledoc" "typedoc" "spec" "type" "typep" "opaque" "callback" "behaviour" "impl"
    "def" "defp" "defmacro" "defmacrop" "defguard" "defguardp" "defdelegate" "defmodule" "defprotocol" "defimpl" "defstruct"
    "defexception"))
(unary_operator operator: _ @_operator operand: (call target: (identifier) @name) @call
  (#not-any-of? @_operator "@" "&")
  (#not-any-of? @name "alias" "import" "use" "require" "if" "unless" "case" "cond" "for" "with" "try" "receive" "quote" "unquote"
    "unquote_splicing" "super" "doc" "moduledoc" "typedoc" "spec" "type" "typep" "opaque" "callback" "behaviour" "impl"
    "def" "defp" "defmacro" "defmacrop" "defguard" "defguardp" "defdelegate" "defmodule" "defprotocol" "defimpl" "defstruct"
    "defexception"))
