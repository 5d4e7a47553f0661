package manifest

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"strconv"
)

// DecodeOutput is Decode for the output of a program: lines are lines of the output,
// which the user cannot see, so they are part of the message.
func DecodeOutput(source string, text []byte) ([]Object, []string, error) {
	objects, warnings, err := Decode(source, text)
	var bad *Error
	if errors.As(err, &bad) {
		bad.Message = fmt.Sprintf("its output: %s", bad.Message)
		if bad.Line > 0 {
			bad.Message = fmt.Sprintf("line %d of %s", bad.Line, bad.Message)
		}
		bad.Line = 0
	}
	for i := range objects {
		objects[i].Line = 0
	}
	return objects, warnings, err
}

// place matches how compilers write a position: file:line, perhaps with a column.
var place = regexp.MustCompile(`([\w@+./-]+\.[\w]+):(\d+)`)

// PlaceIn finds the first position in a program's messages that belongs to one of the
// files, relative to the program's working folder or to the root.
func PlaceIn(words, dir string, isFile func(string) bool) (file string, line int) {
	for _, found := range place.FindAllStringSubmatch(words, -1) {
		for _, name := range []string{path.Join(dir, found[1]), path.Join(".", found[1])} {
			if isFile(name) {
				line, _ = strconv.Atoi(found[2])
				return name, line
			}
		}
	}
	return "", 0
}
