package bounded

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"reflect"
)

// XML decodes a text that becomes at most so many bytes. Each tag is charged as the largest
// struct of the type, with what the decoder takes meanwhile; encoding/xml has its own
// limit of depth.
func XML(text []byte, into any, most int) error {
	perTag := perValue + 4*allocated(largestStruct(reflect.TypeOf(into)))
	if tags := bytes.Count(text, []byte("<")) - bytes.Count(text, []byte("</")); tags > most/perTag {
		return tooLarge(most, fmt.Sprintf("tag %d", most/perTag))
	}
	return xml.Unmarshal(text, into)
}
