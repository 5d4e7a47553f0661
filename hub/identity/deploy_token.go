package identity

// DeployToken reports whether a deploy token is still valid, and whether its
// cluster has another valid one, in which case the agent merely has a newer
// token. Both come from memory, as of the change feed.
func (d *Directory) DeployToken(tokenID, clusterID string) (good, others bool) {
	return d.tokens.deploy(tokenID, clusterID, d.now())
}

func (x *tokenIndex) deploy(tokenID, clusterID string, now int64) (good, others bool) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if hash, ok := x.byID[tokenID]; ok && !x.byHash[hash].expired(now) {
		return true, true
	}
	// A full scan is acceptable: this runs only when a token was removed while
	// its tunnel was up.
	for _, t := range x.byHash {
		if t.Kind == TokenDeploy && t.ClusterID == clusterID && !t.expired(now) {
			return false, true
		}
	}
	return false, false
}
