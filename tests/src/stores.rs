//! Stores around others: what they leave as it is goes on to the store within.

/// The named methods of a [`SessionStore`](runloom::store::SessionStore) as calls of the field `inner`.
#[macro_export]
macro_rules! pass_on {
    () => {};
    (claim $($rest:ident)*) => {
        async fn claim(
            &self,
            session: &::runloom::SessionId,
        ) -> Result<::runloom::store::Owner, ::runloom::store::StoreError> {
            self.inner.claim(session).await
        }
        $crate::pass_on!($($rest)*);
    };
    (load $($rest:ident)*) => {
        async fn load(
            &self,
            session: &::runloom::SessionId,
        ) -> Result<Option<::runloom::Snapshot>, ::runloom::store::StoreError> {
            self.inner.load(session).await
        }
        $crate::pass_on!($($rest)*);
    };
    (save $($rest:ident)*) => {
        async fn save(
            &self,
            owner: &::runloom::store::Owner,
            new: &::runloom::Snapshot,
            old: Option<::runloom::Revision>,
        ) -> Result<(), ::runloom::store::StoreError> {
            self.inner.save(owner, new, old).await
        }
        $crate::pass_on!($($rest)*);
    };
    (delete $($rest:ident)*) => {
        async fn delete(&self, owner: &::runloom::store::Owner) -> Result<(), ::runloom::store::StoreError> {
            self.inner.delete(owner).await
        }
        $crate::pass_on!($($rest)*);
    };
    (retire $($rest:ident)*) => {
        async fn retire(
            &self,
            owner: &::runloom::store::Owner,
            run: &::runloom::RunId,
            before: ::runloom::Seq,
        ) -> Result<(), ::runloom::store::StoreError> {
            self.inner.retire(owner, run, before).await
        }
        $crate::pass_on!($($rest)*);
    };
    (reading $($rest:ident)*) => {
        async fn sessions(
            &self,
            after: Option<&::runloom::SessionId>,
            limit: usize,
        ) -> Result<Vec<::runloom::SessionId>, ::runloom::store::StoreError> {
            self.inner.sessions(after, limit).await
        }
        async fn runs(
            &self,
            session: &::runloom::SessionId,
            after: u64,
            limit: usize,
        ) -> Result<Vec<::runloom::store::RunSummary>, ::runloom::store::StoreError> {
            self.inner.runs(session, after, limit).await
        }
        async fn events(
            &self,
            session: &::runloom::SessionId,
            run: &::runloom::RunId,
            after: ::runloom::Seq,
            page: ::runloom::store::Page,
        ) -> Result<Vec<::runloom::store::Line>, ::runloom::store::StoreError> {
            self.inner.events(session, run, after, page).await
        }
        async fn journals(
            &self,
            session: &::runloom::SessionId,
        ) -> Result<Vec<::runloom::store::JournalSummary>, ::runloom::store::StoreError> {
            self.inner.journals(session).await
        }
        async fn journal(
            &self,
            name: &::runloom::store::JournalId,
            after: u64,
            page: ::runloom::store::Page,
        ) -> Result<Vec<::runloom::store::Line>, ::runloom::store::StoreError> {
            self.inner.journal(name, after, page).await
        }
        $crate::pass_on!($($rest)*);
    };
}
