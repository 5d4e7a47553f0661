package podlogs

// Pieces returns what makes lines of pieces.
func Pieces(emit func(Line) error) func([]byte) error {
	a := &assembler{emit: emit}
	return a.take
}
