package bin

// Forget forgets what this process asked for, as another process would not know it.
func Forget() {
	asked.Lock()
	defer asked.Unlock()
	clear(asked.paths)
}
