; If two patterns capture one node, the earlier one wins.
(class_definition name: (identifier) @name
  superclasses: (argument_list [(identifier) (attribute)] @_base)
  (#match? @_base "(^|\\.)(Enum|IntEnum|StrEnum|Flag|IntFlag)$")) @enum
(class_definition name: (identifier) @name
  superclasses: (argument_list [(identifier) (attribute)] @_base)
  (#match? @_base "(^|\\.)Protocol$")) @interface
(class_definition name: (identifier) @name) @class
(function_definition name: (identifier) @name) @function @callable
(module (expression_statement (assignment left: (identifier) @name) @constant)
  (#match? @name "^_?[A-Z][A-Z0-9_]*$"))
(type_alias_statement left: (type [(identifier) @name (generic_type . (identifier) @name)])) @type
