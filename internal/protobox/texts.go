package protobox

import (
	"slices"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// Texts are those of a list of strings, or the words of another one's values.
func Texts(list protoreflect.List) (all []string) {
	for i := range list.Len() {
		all = append(all, list.Get(i).String())
	}
	return all
}

// Ordered are the texts of a set as the hub keeps it: sorted, without repetitions.
func Ordered(list protoreflect.List) []string {
	all := Texts(list)
	slices.Sort(all)
	return slices.Compact(all)
}
