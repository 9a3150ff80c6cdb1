; Where TypeScript's grammar has another node.
(field_definition property: (_) @name value: [(arrow_function) (function_expression)] @callable) @method
