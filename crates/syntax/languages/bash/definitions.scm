(function_definition name: (_) @name) @function @callable
; Top-level values of the script. Values set in functions are local.
(program (declaration_command (variable_assignment name: (variable_name) @name) @constant))
(program (variable_assignment name: (variable_name) @name) @constant
  (#match? @name "^[A-Z][A-Z0-9_]*$"))
(program (list (declaration_command (variable_assignment name: (variable_name) @name) @constant)))
(program (variable_assignments (variable_assignment name: (variable_name) @name) @constant)
  (#match? @name "^[A-Z][A-Z0-9_]*$"))
