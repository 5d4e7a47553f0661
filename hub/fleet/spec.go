package fleet

import (
	"errors"

	specv1 "github.com/axle-cd/axle/api/spec/v1"
	"github.com/axle-cd/axle/hub/fleet/specrules"
	"github.com/axle-cd/axle/internal/partial"
)

// What a person declares for a service is defined in api/spec/v1. These are the
// domain's names for it.
type (
	Spec            = specv1.Spec
	Git             = specv1.Git
	Source          = specv1.Source
	Helm            = specv1.Helm
	Renderer        = specv1.Renderer
	Jsonnet         = specv1.Jsonnet
	JsonnetVariable = specv1.JsonnetVariable
	Cue             = specv1.Cue
	Exec            = specv1.Exec
	Wasm            = specv1.Wasm
	SyncConfig      = specv1.SyncConfig
	SyncWindow      = specv1.SyncWindow
	Dependency      = specv1.Dependency
	SecretRef       = specv1.SecretRef
	Import          = specv1.Import
)

// MergeSpec returns old with the fields at the JSON paths taken from new, or
// new when there are no paths. A field that new does not have is removed.
// Invalid when a path is not a field.
func MergeSpec(old, new Spec, paths []string) (Spec, error) {
	merged, err := partial.Merge(old, new, paths)
	var none *partial.NoFieldError
	if errors.As(err, &none) {
		err = specrules.Field("fields", "%.80q is not a field of a service", none.Path)
	}
	return merged, err
}
