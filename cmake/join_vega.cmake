# Joins the modules of the folder VEGA to one script, OUTPUT, which defines `vega` with what pages use: parse, View and
# the interpreter of expressions, which does not need eval. Each module is a function that a small require() calls on
# first use.
set(modules util time format loader statistics dataflow scale canvas scenegraph expression selections event-selector transforms
  view-transforms encode runtime functions parser view interpreter)
set(script "const vega=(()=>{const made={},modules={")
foreach(module IN LISTS modules)
  set(file ${module})
  if(module STREQUAL selections)  # as Debian names it
    set(file selection)
  endif()
  file(READ ${VEGA}/vega-${file}.min.js code)
  string(REGEX REPLACE "//# sourceMappingURL[^\n]*" "" code "${code}")
  string(APPEND script "\n\"vega-${module}\":function(exports,module,require){${code}\n},")
endforeach()
string(APPEND script "};
const require=name=>{if(!(name in made)){made[name]={};modules[name](made[name],{},require);}return made[name];};
for(const name of [\"vega-transforms\",\"vega-view-transforms\",\"vega-encode\"])
  Object.assign(require(\"vega-dataflow\").transforms,require(name));
return{parse:require(\"vega-parser\").parse,View:require(\"vega-view\").View,
  expressionInterpreter:require(\"vega-interpreter\").expressionInterpreter};})();
")
file(WRITE ${OUTPUT} "${script}")
