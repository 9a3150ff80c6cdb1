; A function's type signature precedes its clauses; both are one definition.
(signature name: [(variable) @name (prefix_id (operator) @name)]
  type: [(function) (linear_function)] @typed) @function @callable
(signature name: [(variable) @name (prefix_id (operator) @name)]
  type: [(context type: (function)) (forall) (forall_required) (context type: (forall))] @typed) @function @callable
(class_declarations (signature name: [(variable) @name (prefix_id (operator) @name)] type: (_) @typed) @function @callable)
; An action without parameters also counts as a function.
(declarations (signature name: (variable) @name type: (apply constructor: (name) @_action) @typed) @function @callable
  (#any-of? @_action "IO" "ST" "STM"))
(declarations (signature name: (variable) @_of type: (apply constructor: (name) @_action)) . (bind name: (variable) @name) @function @callable
  (#any-of? @_action "IO" "ST" "STM") (#eq? @_of @name))
(declarations (signature name: (variable) @name) @constant)
(declarations (signature name: (variable) @_of type: [(function) (linear_function) (context) (forall) (forall_required)])
  . (bind name: (variable) @name) @function @callable
  (#eq? @_of @name))
(local_binds (signature name: (variable) @_of type: [(function) (linear_function) (context) (forall) (forall_required)])
  . (bind name: (variable) @name) @function @callable
  (#eq? @_of @name))
(function name: [(variable) @name (prefix_id (operator) @name)] match: (_) @body) @function @callable
(function (infix operator: [(operator) @name (infix_id (variable) @name)]) @parameters match: (_) @body) @function @callable
(function (infix operator: [(operator) @name (infix_id (variable) @name)]) match: (_) @body) @function @callable
(class_declarations (bind name: [(variable) @name (prefix_id (operator) @name)]) @function @callable)
(instance_declarations (bind name: [(variable) @name (prefix_id (operator) @name)]) @function @callable)
(declarations (bind name: (variable) @name) @constant)
(foreign_import signature: (signature name: (variable) @name type: (_) @typed)) @function @callable

(data_type name: [(name) @name (prefix_id) @name]) @type
(newtype name: [(name) @name (prefix_id) @name]) @type
(type_synonym name: [(name) @name (prefix_id) @name]) @type
(type_family name: [(name) @name (prefix_id) @name]) @type
(data_family name: [(name) @name (prefix_id) @name]) @type
(class name: [(name) @name (prefix_id) @name]) @interface
; Members of an instance belong to the class and the type.
(instance name: (_) @name patterns: (type_patterns . (_) @name)) @scope
(instance name: (_) @name) @scope
(field name: (field_name (variable) @name)) @property
(pattern_synonym (equation synonym: (constructor) @name)) @constant

; Names in the file's export list.
(export variable: (variable) @exported)
(export type: (name) @exported)
(export operator: (prefix_id (operator) @exported))
(export children: (children element: [(variable) (constructor)] @exported))
