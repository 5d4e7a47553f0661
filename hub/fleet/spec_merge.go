package fleet

import (
	"errors"

	"github.com/axle-cd/axle/internal/partial"
)

// MergeSpec returns old with the fields at the JSON paths taken from new, or
// new when there are no paths. A field that new does not have is removed.
// Invalid when a path is not a field.
func MergeSpec(old, new Spec, paths []string) (Spec, error) {
	merged, err := partial.Merge(old, new, paths)
	var none *partial.NoFieldError
	if errors.As(err, &none) {
		err = field("fields", "%.80q is not a field of a service", none.Path)
	}
	return merged, err
}
