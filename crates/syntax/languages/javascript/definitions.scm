; Nodes that differ in TypeScript's grammar.
(field_definition property: (_) @name value: [(arrow_function) (function_expression)] @callable) @method
