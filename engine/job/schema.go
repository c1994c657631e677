package job

import (
	"encoding/json"
	"reflect"

	"github.com/mpga/mpga/engine/scan/options"
)

// Schema returns the JSON schema of a job's file, which editors complete and check it with.
// invopop/jsonschema makes the command 157 kB larger, and the short forms, lists of one value and
// variables, which are most of a schema, would still be written by hand.
func Schema() []byte {
	root := structSchema(reflect.TypeFor[Job]())
	root["$schema"] = "http://json-schema.org/draft-07/schema#"
	root["title"] = "mpga job"
	root["description"] = "A job of mpga run: queries over files, one after the other."
	text, err := json.MarshalIndent(root, "", "  ")
	if err != nil {
		panic(err) // maps, lists and texts
	}
	return append(text, '\n')
}

type object = map[string]any

// variable is the schema of a text with a variable in it, which may stand for any value.
func variable() object { return object{"type": "string", "pattern": `\$\{`} }

func structSchema(t reflect.Type) object {
	properties, required := object{}, []string{}
	for _, f := range fieldsOf(t) {
		property := typeSchema(f.typ)
		switch {
		case len(f.words) > 0:
			property = object{"anyOf": []object{{"enum": f.words}, variable()}}
		case f.option != nil && f.option.Kind == options.Mark:
			property = object{"type": []string{"string", "integer"}}
		}
		property["description"] = f.doc
		properties[f.name] = property
		if f.required {
			required = append(required, f.name)
		}
	}
	s := object{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		s["required"] = required
	}
	return s
}

func typeSchema(t reflect.Type) object {
	switch t {
	case reflect.TypeFor[Size]():
		return object{"type": []string{"string", "integer"}, "examples": []string{"512MiB", "2GB"}}
	case reflect.TypeFor[Days]():
		return object{"type": "string", "examples": []string{"400d"}}
	case reflect.TypeFor[Duration]():
		return object{"type": "string", "examples": []string{"90s", "1h30m"}}
	}
	switch t.Kind() {
	case reflect.Struct:
		s := structSchema(t)
		for _, f := range fieldsOf(t) {
			if f.short {
				return object{"anyOf": []object{typeSchema(f.typ), s}}
			}
		}
		return s
	case reflect.Slice:
		item := typeSchema(t.Elem())
		if t.Elem().Kind() == reflect.Struct {
			return object{"type": "array", "items": item, "minItems": 1}
		}
		return object{"anyOf": []object{item, {"type": "array", "items": item}}}
	case reflect.Map:
		return object{"type": "object",
			"additionalProperties": object{"type": []string{"string", "number", "boolean", "null"}}}
	case reflect.Bool:
		return object{"anyOf": []object{{"type": "boolean"}, variable()}}
	case reflect.Int, reflect.Int64:
		return object{"anyOf": []object{{"type": "integer"}, variable()}}
	}
	return object{"type": "string"}
}
