package tarball

import (
	"io"

	"github.com/axle-cd/axle/internal/digest"
)

// Request asks for the bytes of one content.
type Request struct {
	Digest digest.Digest
	// Have is content that is already here: the answer may be a delta from it. Empty
	// requests the whole tarball.
	Have digest.Digest
	// Offset and ETag say where an interrupted download of the whole tarball ended,
	// and of which bytes; zero starts over.
	Offset int64
	ETag   string
}

// Download is the answer to a Request. Its bytes are not verified: whoever unpacks them
// compares the digest.
type Download struct {
	io.ReadCloser
	// Delta says that the bytes are a delta from Have to Digest.
	Delta bool
	// Offset is where the bytes begin: that of the request, or zero if the download
	// started over.
	Offset int64
	// ETag names the bytes; empty if the download cannot be resumed.
	ETag string
	// Size is the size of the whole, -1 if unknown.
	Size int64
	// From names who served the bytes, for error messages.
	From string
}
