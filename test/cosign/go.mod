// Verifies a release with cosign's own library, apart from the other modules: cosign
// brings some hundred others.
module github.com/axle-cd/axle/test/cosign

go 1.26.0

require (
	github.com/google/go-containerregistry v0.21.7
	github.com/sigstore/cosign/v3 v3.1.3
	github.com/sigstore/sigstore v1.10.8
)
