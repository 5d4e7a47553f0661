package fleet

import specv1 "github.com/axle-cd/axle/api/spec/v1"

// What a person declares for a service is defined in api/spec/v1. These are the
// domain's names for it.
type (
	Spec            = specv1.Spec
	Git             = specv1.Git
	Source          = specv1.Source
	Helm            = specv1.Helm
	Kustomize       = specv1.Kustomize
	Renderer        = specv1.Renderer
	Jsonnet         = specv1.Jsonnet
	JsonnetVariable = specv1.JsonnetVariable
	Cue             = specv1.Cue
	Exec            = specv1.Exec
	Wasm            = specv1.Wasm
	SyncConfig      = specv1.SyncConfig
	SyncWindow      = specv1.SyncWindow
	DiffNormalizer  = specv1.DiffNormalizer
	Dependency      = specv1.Dependency
	SecretRef       = specv1.SecretRef
	Import          = specv1.Import
)
