; If two patterns capture one node, the earlier one wins.
(function_declaration name: (_) @name) @function @callable
(generator_function_declaration name: (_) @name) @function @callable
(class_declaration name: (_) @name) @class
(method_definition name: (_) @name) @method @callable

; Named functions and values at the top level of the file. Bindings inside functions are local.
(program
  (_ (variable_declarator name: (identifier) @name
       value: [(arrow_function) (function_expression) (generator_function)] @callable) @function))
(program
  (export_statement
    (_ (variable_declarator name: (identifier) @name
         value: [(arrow_function) (function_expression) (generator_function)] @callable) @function)))
(program
  (lexical_declaration "const" (variable_declarator name: (identifier) @name) @constant))
(program
  (export_statement
    (lexical_declaration "const" (variable_declarator name: (identifier) @name) @constant)))
; A module under a name is an import.
(variable_declarator value: (call_expression function: (identifier) @_call) (#eq? @_call "require")) @skip

; Names exported separately from their definition.
(export_specifier name: (_) @exported)
(export_statement value: (identifier) @exported)
(assignment_expression
  left: (member_expression) @_target
  right: [(identifier) @exported (object (shorthand_property_identifier) @exported)]
  (#match? @_target "^(module\\.)?exports"))
