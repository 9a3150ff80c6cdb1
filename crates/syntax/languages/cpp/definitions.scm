; If two patterns capture one node, the earlier one wins. Keywords can be names only where macros
; have made the text unparsable.
(namespace_definition name: [(namespace_identifier) (nested_namespace_specifier)] @name) @module @public
; Unnamed namespaces are visible only in their own file.
(namespace_definition !name) @scope @private
; A constructor's initializer list is not part of its head.
(function_definition declarator: [
  (function_declarator declarator: (_) @path) @callable
  (pointer_declarator declarator: (function_declarator declarator: (_) @path) @callable)
  (pointer_declarator declarator: (pointer_declarator declarator: (function_declarator declarator: (_) @path) @callable))
  (pointer_declarator declarator: (pointer_declarator declarator: (pointer_declarator declarator: (function_declarator declarator: (_) @path) @callable)))
  (reference_declarator (function_declarator declarator: (_) @path) @callable)
  (pointer_declarator declarator: (reference_declarator (function_declarator declarator: (_) @path) @callable))
  (function_declarator declarator: (parenthesized_declarator (pointer_declarator declarator: (function_declarator declarator: (_) @path) @callable)))
  (array_declarator declarator: (parenthesized_declarator (pointer_declarator declarator: (function_declarator declarator: (_) @path) @callable)))
  (operator_cast declarator: (abstract_function_declarator) @callable) @path
  (qualified_identifier name: (operator_cast declarator: (abstract_function_declarator) @callable)) @path
] (field_initializer_list)? @body
  ; A name in parentheses is that of a pointer to a function.
  (#not-match? @path "^\\(")
  (#not-any-of? @path "if" "else" "for" "while" "switch" "return" "sizeof" "defined")) @function
(declaration declarator: [
  (function_declarator declarator: (_) @path) @callable
  (pointer_declarator declarator: (function_declarator declarator: (_) @path) @callable)
  (pointer_declarator declarator: (pointer_declarator declarator: (function_declarator declarator: (_) @path) @callable))
  (pointer_declarator declarator: (pointer_declarator declarator: (pointer_declarator declarator: (function_declarator declarator: (_) @path) @callable)))
  (reference_declarator (function_declarator declarator: (_) @path) @callable)
  (pointer_declarator declarator: (reference_declarator (function_declarator declarator: (_) @path) @callable))
  (function_declarator declarator: (parenthesized_declarator (pointer_declarator declarator: (function_declarator declarator: (_) @path) @callable)))
  (array_declarator declarator: (parenthesized_declarator (pointer_declarator declarator: (function_declarator declarator: (_) @path) @callable)))
  (operator_cast declarator: (abstract_function_declarator) @callable) @path
  (qualified_identifier name: (operator_cast declarator: (abstract_function_declarator) @callable)) @path
]
  ; A name in parentheses is that of a pointer to a function.
  (#not-match? @path "^\\(")
  (#not-any-of? @path "if" "else" "for" "while" "switch" "return" "sizeof" "defined")) @function
(field_declaration declarator: [
  (function_declarator declarator: (_) @path) @callable
  (pointer_declarator declarator: (function_declarator declarator: (_) @path) @callable)
  (pointer_declarator declarator: (pointer_declarator declarator: (function_declarator declarator: (_) @path) @callable))
  (pointer_declarator declarator: (pointer_declarator declarator: (pointer_declarator declarator: (function_declarator declarator: (_) @path) @callable)))
  (reference_declarator (function_declarator declarator: (_) @path) @callable)
  (pointer_declarator declarator: (reference_declarator (function_declarator declarator: (_) @path) @callable))
  (function_declarator declarator: (parenthesized_declarator (pointer_declarator declarator: (function_declarator declarator: (_) @path) @callable)))
  (array_declarator declarator: (parenthesized_declarator (pointer_declarator declarator: (function_declarator declarator: (_) @path) @callable)))
  (operator_cast declarator: (abstract_function_declarator) @callable) @path
  (qualified_identifier name: (operator_cast declarator: (abstract_function_declarator) @callable)) @path
]
  ; A name in parentheses is that of a pointer to a function.
  (#not-match? @path "^\\(")
  (#not-any-of? @path "if" "else" "for" "while" "switch" "return" "sizeof" "defined")) @function
(class_specifier name: (_) @name body: (_)) @class
(struct_specifier name: (_) @name body: (_)) @struct
(union_specifier name: (_) @name body: (_)) @struct
(enum_specifier name: (_) @name body: (_)) @enum
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
    (sized_type_specifier) (qualified_identifier) (template_type) (placeholder_type_specifier)]
  declarator: [
    (type_identifier) @name
    (pointer_declarator declarator: (type_identifier) @name)
    (array_declarator declarator: (type_identifier) @name)
    (function_declarator declarator: (type_identifier) @name)
    (function_declarator declarator: (parenthesized_declarator (pointer_declarator declarator: (type_identifier) @name)))
    (pointer_declarator declarator: (function_declarator
      declarator: (parenthesized_declarator (pointer_declarator declarator: (type_identifier) @name))))
  ]) @type
(alias_declaration name: (_) @name) @type
(concept_definition name: (_) @name) @type
(field_declaration (storage_class_specifier) @_static declarator: [
  (field_identifier) @name
  (array_declarator declarator: (field_identifier) @name)
  (pointer_declarator declarator: (field_identifier) @name)
  (pointer_declarator declarator: (array_declarator declarator: (field_identifier) @name))
] (#eq? @_static "static")) @constant
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
  (reference_declarator (identifier) @name)
  (qualified_identifier) @path
  (array_declarator declarator: (qualified_identifier) @path)
] @constant)
(declaration declarator: (init_declarator declarator: [
  (identifier) @name
  (pointer_declarator declarator: (identifier) @name)
  (array_declarator declarator: (identifier) @name)
  (pointer_declarator declarator: (pointer_declarator declarator: (identifier) @name))
  (pointer_declarator declarator: (array_declarator declarator: (identifier) @name))
  (array_declarator declarator: (array_declarator declarator: (identifier) @name))
  (function_declarator declarator: (parenthesized_declarator (pointer_declarator declarator: (identifier) @name)))
  (reference_declarator (identifier) @name)
  (qualified_identifier) @path
  (array_declarator declarator: (qualified_identifier) @path)
]) @constant)
