package clusters

import (
	"fmt"
	"strings"
	"testing"
)

// TestVariablesAreThoseOfTheSchema: what must be given comes first, and a value that has
// only some spellings shows them.
func TestVariablesAreThoseOfTheSchema(t *testing.T) {
	all, err := variablesIn(`{"type": "object", "required": ["region"], "properties": {
		"size": {"type": "string", "enum": ["small", "large"], "default": "small"},
		"region": {"type": "string", "description": "Where it is."},
		"count": {"type": ["integer", "null"], "default": 3}}}`)
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, v := range all {
		got += fmt.Sprintf("%s|%s|%v|%s|%s\n", v.Name, v.kind(), v.required, v.Default, v.Description)
	}
	if want := "region|string|true||Where it is.\ncount|[\"integer\", \"null\"]|false|3|\nsize|small, large|false|\"small\"|\n"; got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	for _, schema := range []string{"{", `{"properties": {"a": 3}}`, `{"properties": {"a": {"description": "` + strings.Repeat("x", maxVariables) + `"}}}`} {
		if _, err := variablesIn(schema); err == nil {
			t.Errorf("%.40s: no error", schema)
		}
	}
}
