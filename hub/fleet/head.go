package fleet

// Head is what a source points at, as the git cache tells it.
type Head struct {
	SourceID string
	Content
	// Error says why the source as it is now cannot be produced; the content
	// is then the last good one.
	Error   string
	ErrorAt int64
}
