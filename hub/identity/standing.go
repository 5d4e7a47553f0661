package identity

// Standing returns a user or a service account as they are now, from memory: the caller that
// they would be with a token that may do everything. It is for what is decided about somebody
// who does not call. ok is false when there is none.
func (d *Directory) Standing(id string) (p Principal, ok bool) {
	known, ok := d.access.person(id)
	if !ok {
		return Principal{}, false
	}
	return d.principal(Token{Kind: TokenAPI, OwnerID: known.ID, OwnerKind: known.Kind, OwnerName: known.Name, Scopes: AllScopes}), true
}
