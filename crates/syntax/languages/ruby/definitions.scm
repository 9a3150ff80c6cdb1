; If two patterns capture one node, the earlier one wins.
(module name: (scope_resolution scope: (_) @within name: (_) @name)) @module @public
(module name: (_) @name) @module @public
(class name: (scope_resolution scope: (_) @within name: (_) @name)) @class @public
(class name: (_) @name) @class @public
; Its methods belong to the class itself.
(singleton_class) @scope
(assignment left: (constant) @name right: (call
  receiver: (constant) @_maker method: (identifier) @_new block: (_) @body)
  (#any-of? @_maker "Struct" "Class" "Data" "Module")
  (#any-of? @_new "new" "define")) @class @public
(assignment left: (constant) @name right: (call
  receiver: (constant) @_maker method: (identifier) @_new)
  (#any-of? @_maker "Struct" "Class" "Data")
  (#any-of? @_new "new" "define")) @class @public

; `private def name` and the like.
(call method: (identifier) @private arguments: (argument_list (method name: (_) @name) @function @callable)
  (#any-of? @private "private" "private_class_method"))
(call method: (identifier) @private arguments: (argument_list (singleton_method name: (_) @name) @method @callable)
  (#eq? @private "private_class_method"))
(call method: (identifier) @protected arguments: (argument_list (method name: (_) @name) @function @callable)
  (#eq? @protected "protected"))
(method name: (_) @name) @function @callable
; `private` does not affect class methods.
(singleton_method object: (self) @modifier name: (_) @name) @method @callable @public
(singleton_method object: (_) @within name: (_) @name) @method @callable @public
(call method: (identifier) @_define arguments: (argument_list . (simple_symbol) @name)
  block: (_ parameters: (_)? @parameters body: (_)? @body) @callable
  (#eq? @_define "define_method")) @function

(call method: (identifier) @_attribute arguments: (argument_list (simple_symbol) @name @property)
  (#any-of? @_attribute "attr_reader" "attr_writer" "attr_accessor" "attr"))
(assignment left: (constant) @name) @constant @public
(alias name: (_) @name) @function
(call method: (identifier) @_alias arguments: (argument_list . (simple_symbol) @name . (simple_symbol))
  (#eq? @_alias "alias_method")) @function

; Names made private separately from their definition.
(body_statement (call method: (identifier) @_hide arguments: (argument_list (simple_symbol) @hidden))
  (#any-of? @_hide "private" "private_constant" "private_class_method")) @around
