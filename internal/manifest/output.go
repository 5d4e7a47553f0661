package manifest

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"strconv"
)

// DecodeOutput is Decode for what a program printed: a line is one of its
// output, which nobody can look at, and stands in the message.
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

// place is how compilers write a place: file:line, perhaps with a column.
var place = regexp.MustCompile(`([\w@+./-]+\.[\w]+):(\d+)`)

// PlaceIn finds the first place in a program's words that is one of the files,
// named from the folder that the program worked in, or from the root.
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
