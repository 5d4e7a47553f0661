// Package spelling lists how a value may stand in a text, for tests that no text has it.
// Only tests call it; package scrub finds the spellings that programs are promised to hide.
package spelling

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"strconv"
	"strings"
)

// Planted is a value that reads differently in each spelling.
const Planted = "Correct horse: <battery>/\"staple\"+4711"

// Of returns the spellings of a value, by name.
func Of(value string) map[string]string {
	text, _ := json.Marshal(value) // a string has JSON
	middle := len(value) / 2
	return map[string]string{
		"plain": value, "quoted": strconv.Quote(value), "JSON": string(text), "JSON twice": strconv.Quote(string(text)), "escaped for a URL": url.QueryEscape(value),
		"base64": base64.StdEncoding.EncodeToString([]byte(value)), "base64 for a URL": base64.RawURLEncoding.EncodeToString([]byte(value)), "hex": hex.EncodeToString([]byte(value)),
		"upper case": strings.ToUpper(value), "lower case": strings.ToLower(value), "split": value[:middle] + "\n  " + value[middle:], "cut": value[:middle] + "...", "its end": "..." + value[middle:],
		"bytes": fmt.Sprint([]byte(value)), "as Go prints it": fmt.Sprintf("%#v", map[string]any{"k": value}), "in HTML": html.EscapeString(value), "in XML": strings.ReplaceAll(value, " ", "&#32;"),
	}
}

// In returns the name of a spelling of which a text has a part that is long enough to be no
// accident, and that part.
func In(text, value string, long int) (spelling, part string) {
	for name, spelled := range Of(value) {
		for part := range strings.FieldsSeq(spelled) {
			if len(part) >= long && strings.Contains(text, part) {
				return name, part
			}
		}
	}
	return "", ""
}
