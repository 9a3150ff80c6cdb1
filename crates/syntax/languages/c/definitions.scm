; If two patterns capture one node, the earlier one wins. Keywords can be names only where macros
; have made the text unparsable.
(function_definition declarator: [
  (function_declarator declarator: (identifier) @path) @callable
  (pointer_declarator declarator: (function_declarator declarator: (identifier) @path) @callable)
  (pointer_declarator declarator: (pointer_declarator declarator: (function_declarator declarator: (identifier) @path) @callable))
  (pointer_declarator declarator: (pointer_declarator declarator: (pointer_declarator declarator: (function_declarator declarator: (identifier) @path) @callable)))
  (function_declarator declarator: (parenthesized_declarator (pointer_declarator declarator: (function_declarator declarator: (identifier) @path) @callable)))
  (array_declarator declarator: (parenthesized_declarator (pointer_declarator declarator: (function_declarator declarator: (identifier) @path) @callable)))
]
  (#not-any-of? @path "if" "else" "for" "while" "switch" "return" "sizeof" "defined")) @function
(declaration declarator: [
  (function_declarator declarator: (identifier) @path) @callable
  (pointer_declarator declarator: (function_declarator declarator: (identifier) @path) @callable)
  (pointer_declarator declarator: (pointer_declarator declarator: (function_declarator declarator: (identifier) @path) @callable))
  (pointer_declarator declarator: (pointer_declarator declarator: (pointer_declarator declarator: (function_declarator declarator: (identifier) @path) @callable)))
  (function_declarator declarator: (parenthesized_declarator (pointer_declarator declarator: (function_declarator declarator: (identifier) @path) @callable)))
  (array_declarator declarator: (parenthesized_declarator (pointer_declarator declarator: (function_declarator declarator: (identifier) @path) @callable)))
]
  (#not-any-of? @path "if" "else" "for" "while" "switch" "return" "sizeof" "defined")) @function
; A typedef of an untagged type names that type; one with the name of its tag is redundant.
(type_definition type: (struct_specifier !name body: (_) @body) declarator: (type_identifier) @name) @struct
(type_definition type: (union_specifier !name body: (_) @body) declarator: (type_identifier) @name) @struct
(type_definition type: (enum_specifier !name body: (_) @body) declarator: (type_identifier) @name) @enum
(type_definition
  type: [(struct_specifier name: (_) @_tag body: (_)) (union_specifier name: (_) @_tag body: (_))
    (enum_specifier name: (_) @_tag body: (_))]
  declarator: [
    (type_identifier) @name
    (pointer_declarator declarator: (type_identifier) @name)
  ] @type
  (#not-eq? @_tag @name))
(type_definition
  type: [(struct_specifier !body) (union_specifier !body) (enum_specifier !body) (type_identifier) (primitive_type)
    (sized_type_specifier) (macro_type_specifier)]
  declarator: [
    (type_identifier) @name
    (pointer_declarator declarator: (type_identifier) @name)
    (array_declarator declarator: (type_identifier) @name)
    (function_declarator declarator: (type_identifier) @name)
    (function_declarator declarator: (parenthesized_declarator (pointer_declarator declarator: (type_identifier) @name)))
    (pointer_declarator declarator: (function_declarator
      declarator: (parenthesized_declarator (pointer_declarator declarator: (type_identifier) @name))))
  ]) @type
(struct_specifier name: (_) @name body: (_)) @struct
(union_specifier name: (_) @name body: (_)) @struct
(enum_specifier name: (_) @name body: (_)) @enum
; A macro without a value is a guard or a switch.
(preproc_def name: (_) @name value: (_)) @macro
(preproc_function_def name: (_) @name value: (_)? @body) @macro
; Declarations inside functions are skipped by the reader.
(declaration declarator: [
  (identifier) @name
  (pointer_declarator declarator: (identifier) @name)
  (array_declarator declarator: (identifier) @name)
  (pointer_declarator declarator: (pointer_declarator declarator: (identifier) @name))
  (pointer_declarator declarator: (array_declarator declarator: (identifier) @name))
  (array_declarator declarator: (array_declarator declarator: (identifier) @name))
  (function_declarator declarator: (parenthesized_declarator (pointer_declarator declarator: (identifier) @name)))
] @constant)
(declaration declarator: (init_declarator declarator: [
  (identifier) @name
  (pointer_declarator declarator: (identifier) @name)
  (array_declarator declarator: (identifier) @name)
  (pointer_declarator declarator: (pointer_declarator declarator: (identifier) @name))
  (pointer_declarator declarator: (array_declarator declarator: (identifier) @name))
  (array_declarator declarator: (array_declarator declarator: (identifier) @name))
  (function_declarator declarator: (parenthesized_declarator (pointer_declarator declarator: (identifier) @name)))
]) @constant)
