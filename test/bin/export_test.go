package bin

// Forget forgets what this process built, as another process of the same go test would
// not know it.
func Forget() {
	built.Lock()
	defer built.Unlock()
	clear(built.paths)
}
