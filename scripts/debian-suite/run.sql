create table t(id integer primary key, a integer, b text);
with recursive n(i) as (values(1) union all select i + 1 from n where i < 20000) insert into t select i, i * 7919 % 10007, 'b' || i % 97 from n;
create index ta on t(a);
select count(*), sum(a), max(b) from t where a between 1000 and 5000;
select b, count(*) c, avg(a) from t group by b order by c desc, b limit 4;
select x.id, y.id from t x join t y on x.a = y.a + 1 order by x.id limit 3;
update t set b = upper(b) where id % 3 = 0; delete from t where id % 5 = 0;
select count(*), sum(length(b)), group_concat(distinct substr(b, 1, 1)) from t;
vacuum; pragma integrity_check;
