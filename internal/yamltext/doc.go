// Package yamltext writes decoded JSON as YAML, for people: plain where a text reads as itself,
// quoted or as a block of lines otherwise. A YAML library, which writes any Go value, takes
// longer for the objects of a large chart than rendering it.
//
// It reads nothing. Callers decode with json.Decoder.UseNumber, so that numbers stay as
// they are.
//
// Invariant: whatever reads YAML 1.1 or 1.2 reads the value again.
package yamltext
